package slowfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Tree is a directory as it was when it was read. Many mounts share one.
type Tree struct {
	dir     string
	entries []*entry // the kernel's node id less 1
}

// entry is a file, directory or link.
type entry struct {
	path     string // below the directory; "." is the directory itself
	attr     fuse.Attr
	link     string
	children map[string]int
	names    []string // of children, sorted

	once sync.Once
	file *os.File
	err  error
}

// Index reads dir. Its files must not change as long as the Tree is used.
func Index(dir string) (*Tree, error) {
	t := &Tree{dir: dir}
	number := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		n := len(t.entries)
		number[rel] = n
		e, err := newEntry(path, rel, n)
		if err != nil {
			return err
		}
		t.entries = append(t.entries, e)
		if n > 0 {
			parent := t.entries[number[filepath.Dir(rel)]]
			parent.children[filepath.Base(rel)] = n
			parent.names = append(parent.names, filepath.Base(rel))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", dir, err)
	}
	for i := range t.entries {
		slices.Sort(t.entries[i].names)
	}
	return t, nil
}

func newEntry(path, rel string, n int) (*entry, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	e := &entry{path: rel}
	e.attr.FromStat(&st)
	e.attr.Ino = uint64(n + 1)
	var err error
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		e.children = map[string]int{}
	case syscall.S_IFLNK:
		e.link, err = os.Readlink(path)
	case syscall.S_IFREG:
	default:
		err = fmt.Errorf("%s is neither a file nor a directory nor a link", path)
	}
	return e, err
}

// open is the file's content; all mounts read through one descriptor.
func (t *Tree) open(n int) (*os.File, error) {
	e := t.entries[n]
	e.once.Do(func() { e.file, e.err = os.Open(filepath.Join(t.dir, e.path)) })
	return e.file, e.err
}

// Close closes what mounts opened. No mount may be left.
func (t *Tree) Close() error {
	var errs []error
	for i := range t.entries {
		if f := t.entries[i].file; f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Len is the number of files, directories and links.
func (t *Tree) Len() int { return len(t.entries) }
