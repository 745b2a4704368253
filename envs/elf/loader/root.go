package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Root is where a node's files are.
type Root struct {
	// Dir is the directory that is / for the node; "" is this host's own.
	Dir string
	// Binds are directories that lie elsewhere here, such as a prefix that is not
	// attached: path on the node to directory of this host. The longest path holds.
	Binds map[string]string
	// Recorded is what is known of a directory without reading it; nil = all is read.
	Recorded *Recorded
}

// maxLinks is how many links Linux follows.
const maxLinks = 40

// here is where a path of the node lies on this host, its last links not followed.
func (r Root) here(at string) string {
	best, dir := "", r.Dir
	for to, from := range r.Binds {
		if (at == to || strings.HasPrefix(at, strings.TrimSuffix(to, "/")+"/")) && len(to) > len(best) {
			best, dir = to, from
		}
	}
	return filepath.Join(dir, "/", filepath.FromSlash(at[len(best):]))
}

// files are a node's files as they are met: a directory is looked for once. They may
// be asked by many at once.
type files struct {
	root   Root
	record *record // nil = there is none

	mu   sync.Mutex
	dirs map[string]string // real path of each that was asked for; "" = there is none
}

func newFiles(root Root) (*files, error) {
	f := &files{root: root, dirs: map[string]string{}}
	if root.Recorded == nil {
		return f, nil
	}
	// As the loader knows it: $ORIGIN has no links. The directory itself is none, and is
	// not looked at. What does not exist on this host is where it will be.
	above, name := path.Split(path.Clean(root.Recorded.At))
	at, err := f.walk(above)
	if absent(err) {
		at, err = path.Clean(above), nil
	}
	if err != nil {
		return nil, err
	}
	f.record = newRecord(path.Join(at, name), root.Recorded)
	return f, nil
}

// entry is what is at a path, its own links not followed.
type entry int

const (
	nothing entry = iota
	directory
	link
	other
)

// look says what is at a path, and where it leads if it is a link. inner: it is
// asked for as a directory on the way to something.
func (f *files) look(at string, inner bool) (entry, string, error) {
	if f.record != nil {
		if e, to, known := f.record.look(at, inner); known {
			return e, to, nil
		}
	}
	here := f.root.here(at)
	info, err := os.Lstat(here)
	switch {
	case absent(err):
		return nothing, "", nil
	case err != nil:
		return nothing, "", err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(here)
		return link, to, err
	case info.IsDir():
		return directory, "", nil
	}
	return other, "", nil
}

// resolve follows all links in a path of the node, within the root, and returns
// the path on the node without links. The path must be absolute. A path that leads
// nowhere is an fs.ErrNotExist.
func (f *files) resolve(at string) (string, error) {
	dir, name := path.Split(at)
	if name == "" || name == "." || name == ".." {
		return f.walk(at)
	}
	real, err := f.directory(dir)
	if err != nil {
		return "", err
	}
	at = path.Join(real, name)
	switch e, _, err := f.look(at, false); {
	case err != nil:
		return "", err
	case e == nothing:
		return "", &fs.PathError{Op: "open", Path: at, Err: fs.ErrNotExist}
	case e == link:
		return f.walk(at)
	}
	return at, nil
}

// directory is the real path of a directory.
func (f *files) directory(dir string) (string, error) {
	f.mu.Lock()
	real, known := f.dirs[dir]
	f.mu.Unlock()
	if !known {
		var err error
		if real, err = f.walk(dir + "/."); err != nil && !absent(err) {
			return "", err
		}
		f.mu.Lock()
		f.dirs[dir] = real
		f.mu.Unlock()
	}
	if real == "" {
		return "", &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return real, nil
}

// walk goes along a path from the root on.
func (f *files) walk(at string) (string, error) {
	left := strings.Split(at, "/")
	done := "/"
	links := 0
	for len(left) > 0 {
		word := left[0]
		left = left[1:]
		switch word {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, word)
		e, to, err := f.look(next, len(left) > 0)
		switch {
		case err != nil:
			return "", err
		case e == nothing:
			return "", &fs.PathError{Op: "open", Path: at, Err: fs.ErrNotExist}
		case e == link:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "open", Path: at, Err: syscall.ELOOP}
			}
			if path.IsAbs(to) {
				done = "/"
			}
			left = append(strings.Split(to, "/"), left...)
		case e == other && len(left) > 0:
			return "", &fs.PathError{Op: "open", Path: at, Err: syscall.ENOTDIR}
		default:
			done = next
		}
	}
	return done, nil
}

// absent tells that an error means that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// read reads a file of the node of at most limit bytes.
func (f *files) read(at string, limit int64) ([]byte, error) {
	real, err := f.resolve(at)
	if err != nil {
		return nil, err
	}
	here := f.root.here(real)
	info, err := os.Stat(here)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", at, limit)
	}
	return os.ReadFile(here)
}
