package materialize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// ReadImage is ReadTree for the image at path: it reads all of it without mounting
// it. An image that cannot be read to its end is an error of class
// cache.ErrIntegrity.
func ReadImage(ctx context.Context, path string) (*Tree, error) {
	return readImage(ctx, path, nil)
}

// readImage tells keep, unless it is nil, of every file, which it may read as well,
// and of every link.
func readImage(ctx context.Context, path string, keep func(*image.Entry, io.Reader) error) (*Tree, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: look at %s: %w", cache.ErrStore, path, err)
	}
	t := &Tree{}
	img, err := image.Open(f, st.Size())
	if err == nil {
		err = img.Walk(ctx, func(e *image.Entry, content io.Reader) error { return t.addEntry(e, content, keep) })
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, image.ErrFormat) {
		err = fmt.Errorf("%w: %w", cache.ErrIntegrity, err)
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", path, err)
	}
	return t, nil
}

func (t *Tree) addEntry(e *image.Entry, content io.Reader, keep func(*image.Entry, io.Reader) error) error {
	if what := oddEntry(e); what != "" {
		t.odd = append(t.odd, Difference{Path: e.Path, What: what})
	}
	if e.Path == "." {
		return nil
	}
	l := line{path: e.Path}
	switch {
	case e.Mode.IsDir():
		l.kind = 'd'
	case e.Mode&fs.ModeSymlink != 0:
		l.kind, l.value = 'l', e.Target
		if keep != nil {
			if err := keep(e, nil); err != nil {
				return err
			}
		}
	default:
		l.kind, l.exec = 'f', e.Mode&0o111 != 0
		h := sha256.New()
		in := io.TeeReader(content, h)
		if keep != nil {
			if err := keep(e, in); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
		l.value = hex.EncodeToString(h.Sum(nil))
	}
	t.lines = append(t.lines, l)
	return nil
}

// oddEntry says in words what is wrong with who may do what to a path of an image,
// and with its time: all of that is fixed. "" = nothing.
func oddEntry(e *image.Entry) string {
	want := fs.FileMode(0o444)
	if e.Mode.IsDir() || e.Mode&0o111 != 0 {
		want = 0o555
	}
	switch {
	case e.UID != 0 || e.GID != 0:
		return fmt.Sprintf("it belongs to uid %d and gid %d, not to root", e.UID, e.GID)
	case int64(e.Time) != cache.FileTime.Unix():
		return fmt.Sprintf("its time is %d, not %d", e.Time, cache.FileTime.Unix())
	case e.Mode&fs.ModeSymlink == 0 && e.Mode&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != want:
		return fmt.Sprintf("its mode is %v, not %#o", e.Mode, want)
	}
	return ""
}

// ImageActivation is ReadImage, and calls static with a directory that holds those
// files of the image by which activation.FromTree goes.
func ImageActivation(ctx context.Context, path string, static func(root string) error) (_ *Tree, err error) {
	dir, err := os.MkdirTemp("", "hpcenv-image-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t, err := readImage(ctx, path, func(e *image.Entry, content io.Reader) error {
		if at, _ := filepath.Match("etc/conda/*/*", e.Path); !at && e.Path != "conda-meta/state" {
			return nil
		}
		return unpack(filepath.Join(dir, filepath.FromSlash(e.Path)), e, content)
	})
	if err != nil {
		return nil, err
	}
	return t, static(dir)
}

// unpack makes one file or link.
func unpack(to string, e *image.Entry, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if content == nil {
		return os.Symlink(e.Target, to)
	}
	return image.WriteFile(to, e, content)
}
