package linkscript

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Names below a task's folder in the spool. The daemon writes all but those in out/,
// which are the build account's.
const (
	taskFile    = "task.json"
	treeFile    = "tree.tar"
	sourceFile  = "source.tar"
	outDir      = "out"
	outcomeFile = "outcome.json"
	contentFile = "content.tar"
	errorFile   = "error"
	claimFile   = "claimed"
)

// maxAnswer bounds an outcome without contents, in bytes.
const maxAnswer = 64 << 20

// putTask writes a task into the folder dir. task.json comes last: where it is, the
// task is complete.
func putTask(ctx context.Context, dir string, t *Task) error {
	if err := packTree(ctx, t.Tree, filepath.Join(dir, treeFile)); err != nil {
		return err
	}
	if t.Source != "" {
		if err := packTree(ctx, t.Source, filepath.Join(dir, sourceFile)); err != nil {
			return err
		}
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return putFile(filepath.Join(dir, taskFile), data)
}

// putFile makes a file complete or not at all.
func putFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func packTree(ctx context.Context, root, to string) (err error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: rel, Mode: int64(info.Mode().Perm()), ModTime: fixedTime, Format: tar.FormatPAX}
		switch {
		case d.IsDir():
			h.Typeflag = tar.TypeDir
		case d.Type() == fs.ModeSymlink:
			h.Typeflag = tar.TypeSymlink
			h.Linkname, err = os.Readlink(p)
		default:
			h.Typeflag, h.Size = tar.TypeReg, info.Size()
		}
		if err == nil {
			err = w.WriteHeader(h)
		}
		if err != nil || h.Typeflag != tar.TypeReg {
			return err
		}
		return packFile(w, p)
	})
}

func packFile(w io.Writer, p string) error {
	src, err := os.Open(p)
	if err != nil {
		return err
	}
	defer src.Close() // only read
	_, err = io.Copy(w, src)
	return err
}

// unpackTree makes the tree of packTree. The archive is the daemon's own.
func unpackTree(from, at string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close() // a directory
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.Mkdir(h.Name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, h.Name)
		default:
			err = writeTo(func() (*os.File, error) {
				return root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(h.Mode)&0o755)
			}, r)
		}
		if err != nil {
			return err
		}
	}
}

func writeTo(open func() (*os.File, error), src io.Reader) error {
	f, err := open()
	if err != nil {
		return err
	}
	_, err = io.Copy(f, src)
	return errors.Join(err, f.Close())
}

// putOutcome is the build account's answer in the folder dir: contents first.
func putOutcome(dir string, o *Outcome) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, outDir, contentFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	for _, c := range o.Changes {
		if c.Kind != File {
			continue
		}
		if err = w.WriteHeader(&tar.Header{Name: c.SHA256, Size: c.Size, Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err == nil {
			err = packFile(w, c.Content)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, w.Close(), f.Close()); err != nil {
		return err
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return putFile(filepath.Join(dir, outDir, outcomeFile), data)
}

// openAnswer opens a file that another account wrote: a regular one, of bounded size,
// never through a link.
func openAnswer(dir, name string, limit int64) (*os.File, error) {
	path := filepath.Join(dir, outDir, name)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	st, err := f.Stat()
	if err == nil && (!st.Mode().IsRegular() || st.Size() > limit) {
		err = fmt.Errorf("%s is no regular file of at most %d bytes", path, limit)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// takeOutcome reads an answer and believes nothing of it: paths, kinds, links and sizes
// are verified, contents are hashed on the way into the task's scratch directory.
func takeOutcome(dir string, t *Task) (*Outcome, error) {
	f, err := openAnswer(dir, outcomeFile, maxAnswer)
	if err != nil {
		return nil, err
	}
	var o Outcome
	err = json.NewDecoder(io.LimitReader(f, maxAnswer)).Decode(&o)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the answer of the build job: %w", err)
	}
	cut := func(s string) string { return printable(s[max(0, len(s)-maxText):]) }
	o.Script, o.Failed, o.Messages, o.Output = t.Script, cut(o.Failed), cut(o.Messages), printable(o.Output[max(0, len(o.Output)-t.Script.text()):])
	for i, p := range o.Ignored {
		o.Ignored[i] = cut(p)
	}
	if o.Failed != "" {
		o.Changes = nil
		return &o, nil
	}
	if err := Verify(o.Changes, t.Prefix, t.Limits); err != nil {
		return nil, fmt.Errorf("the answer of the build job is refused: %s", strings.TrimPrefix(err.Error(), errFailed.Error()+": "))
	}
	// Headers and padding of the archive come on top of the contents.
	f, err = openAnswer(dir, contentFile, t.Limits.Bytes+int64(len(o.Changes)+2)*4096)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	r := tar.NewReader(f)
	for i := range o.Changes {
		c := &o.Changes[i]
		if c.Kind != File {
			continue
		}
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("contents of the build job: %w", err)
		}
		c.Content = filepath.Join(t.Scratch, fmt.Sprintf("content-%d", i))
		err = writeTo(func() (*os.File, error) {
			return os.OpenFile(c.Content, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}, io.LimitReader(r, c.Size+1))
		if err != nil {
			return nil, fmt.Errorf("contents of the build job: %w", err)
		}
		sum, n, err := hashFile(c.Content)
		if err != nil || h.Typeflag != tar.TypeReg || sum != c.SHA256 || n != c.Size {
			return nil, fmt.Errorf("the answer of the build job is refused: %s is not what it says (%v)", c.Path, err)
		}
	}
	return &o, nil
}
