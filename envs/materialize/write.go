package materialize

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// made is what became of one operation.
type made struct {
	content
	// pooled: it came from the pool as it is, by method.
	pooled bool
	method cache.Method
}

// writer makes the paths of one plan in a staging directory. It sees to modes and
// to the times of files and links itself, so that umask and clock do not matter.
// Directories keep the time they get: nothing depends on it, and setting it
// costs shared storage one more operation for each. No path it opens leads
// through a link: the plan has nothing below a link, and staging was empty.
type writer struct {
	plan  *Plan
	store *cache.Store
	pool  *cache.Linker
	root  *os.File
	fd    int  // of root
	owner int  // uid to give new inodes to; -1 = ours
	exact bool // new inodes have the mode asked for
	made  []made
	// repeat marks operations whose content another one links already and which
	// must not share its inode.
	repeat  []bool
	empties empties
}

func newWriter(p *Plan, store *cache.Store, staging string) (*writer, error) {
	root, err := os.Open(staging)
	if err != nil {
		return nil, fmt.Errorf("%w: staging directory: %w", cache.ErrStore, err)
	}
	pool, err := store.NewLinker(staging)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	w := &writer{plan: p, store: store, pool: pool, root: root, fd: int(root.Fd()), owner: -1, exact: pool.Exact(), made: make([]made, len(p.Ops)), repeat: make([]bool, len(p.Ops))}
	if uid := store.Format().OwnerUID; os.Geteuid() == 0 && uid != 0 {
		w.owner = uid
	}
	return w, nil
}

func (w *writer) close() error {
	return errors.Join(w.pool.Close(), failed("close", "the prefix", w.root.Close()))
}

// failed makes an error of the store out of one at a path of the prefix.
func failed(what, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w: %w", what, path, cache.ErrStore, err)
}

// dirfd is the staging directory, to which all paths are relative.
func (w *writer) dirfd() int { return w.fd }

func (w *writer) mkdir(op *Op) error {
	if err := unix.Mkdirat(w.dirfd(), op.Path, 0o755); err != nil {
		if why := w.refusedName(op, err); why != nil {
			return why
		}
		return failed("make directory", op.Path, err)
	}
	if !w.exact {
		if err := unix.Fchmodat(w.dirfd(), op.Path, 0o755, 0); err != nil {
			return failed("set mode of", op.Path, err)
		}
	}
	return w.own(op.Path)
}

// own gives a new inode to the store's owner where root makes it.
func (w *writer) own(path string) error {
	if w.owner < 0 {
		return nil
	}
	return failed("set owner of", path, unix.Fchownat(w.dirfd(), path, w.owner, -1, unix.AT_SYMLINK_NOFOLLOW))
}

// fixedTimes are the access and modification time of all files and links of a prefix.
var fixedTimes = []unix.Timespec{
	{Sec: cache.FileTime.Unix()}, {Sec: cache.FileTime.Unix()},
}

func (w *writer) setTime(path string) error {
	return failed("set time of", path, unix.UtimesNanoAt(w.dirfd(), path, fixedTimes, unix.AT_SYMLINK_NOFOLLOW))
}

// make carries out operation i, which is no directory and no record.
func (w *writer) make(i int) error {
	op := &w.plan.Ops[i]
	switch op.Kind {
	case KindSymlink:
		if err := unix.Symlinkat(op.Target, w.dirfd(), op.Path); err != nil {
			if why := w.refusedName(op, err); why != nil {
				return why
			}
			return failed("make link", op.Path, err)
		}
		if err := w.own(op.Path); err != nil {
			return err
		}
		return w.setTime(op.Path)
	case KindData:
		return w.data(i, op.Data)
	case KindPatch:
		return w.patch(i)
	case KindFile:
		return w.file(i)
	default:
		return fmt.Errorf("%s: operation of kind %d cannot be carried out here", op.Path, op.Kind)
	}
}

// data writes a generated file.
func (w *writer) data(i int, data []byte) error {
	return w.create(i, func(dst io.Writer) error {
		_, err := dst.Write(data)
		return err
	})
}

// patch writes a file with its placeholder replaced.
func (w *writer) patch(i int) error {
	op := &w.plan.Ops[i]
	src, err := w.store.OpenEntry(entryOf(op))
	if err != nil {
		return w.blame(op, err)
	}
	defer src.Close() // only read
	return w.create(i, func(dst io.Writer) error {
		err := w.plan.rewrite(dst, src, op)
		if errors.Is(err, errPlaceholder) {
			err = fmt.Errorf("%w: %w; verify the store", err, cache.ErrIntegrity)
		}
		if err != nil {
			return w.blame(op, err)
		}
		return nil
	})
}

// blame names the package and file that an error is about.
func (w *writer) blame(op *Op, err error) error {
	return fmt.Errorf("package %s, file %s: %w", label(w.plan.Packages[op.Owner]), op.Source, err)
}

// create makes a new file, 0644 or 0755, with what write writes, and notes its
// digest and size.
func (w *writer) create(i int, write func(io.Writer) error) (err error) {
	op := &w.plan.Ops[i]
	mode := uint32(0o644)
	if op.Exec {
		mode = 0o755
	}
	fd, err := unix.Openat(w.dirfd(), op.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		if why := w.refusedName(op, err); why != nil {
			return why
		}
		return failed("create", op.Path, err)
	}
	defer func() {
		if cerr := unix.Close(fd); err == nil {
			err = failed("write", op.Path, cerr)
		}
	}()
	sum := &summing{w: descriptor(fd), h: sha256.New()}
	out := writers.Get().(*bufio.Writer)
	out.Reset(sum)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	out.Reset(nil)
	writers.Put(out)
	if err != nil {
		if sum.failed != nil {
			return failed("write", op.Path, sum.failed)
		}
		return err
	}
	if !w.exact {
		if err := unix.Fchmod(fd, mode); err != nil {
			return failed("set mode of", op.Path, err)
		}
	}
	w.made[i].content = content{SHA256: hex.EncodeToString(sum.h.Sum(nil)), Size: sum.n}
	if err := w.own(op.Path); err != nil {
		return err
	}
	return w.setTime(op.Path)
}

// writers gather what files are patched from into fewer, larger writes.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, chunk) }}

// descriptor writes to an open file without the standard library's questions
// about it.
type descriptor int

func (d descriptor) Write(b []byte) (int, error) {
	for n := 0; ; {
		m, err := unix.Write(int(d), b[n:])
		if n += max(m, 0); n == len(b) && err == nil {
			return n, nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// summing passes bytes on, hashes and counts them, and keeps the error of the
// file apart from those of what is read.
type summing struct {
	w      io.Writer
	h      hash.Hash
	n      int64
	failed error
}

func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.h.Write(b[:n]) // a hash never fails
	s.n += int64(n)
	if err != nil {
		s.failed = err
	}
	return n, err
}

func entryOf(op *Op) cache.Entry {
	return cache.Entry{Path: op.Source, Type: cache.EntryFile, Exec: op.Exec, SHA256: op.SHA256, Size: op.Size, NoLink: op.Copy}
}
