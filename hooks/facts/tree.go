package facts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxText bounds what is read of one text file: the longest that matters, the
// kernel's configuration, has 300 kB.
const maxText = 4 << 20

// maxLinks bounds the symbolic links of one path, as the kernel does.
const maxLinks = 40

// tree is a node's files below a root directory. Paths are absolute in the node's
// sense; symbolic links never lead out of the root, so that a recorded tree
// answers for the recorded node alone.
type tree struct {
	root string
	live bool // the root is this host's own
}

func newTree(root string) tree {
	root = filepath.Clean(root)
	return tree{root: root, live: root == "/"}
}

// real is the path of a node's file on this host, links followed below the root.
// What does not exist is returned as it would be named.
func (t tree) real(name string) (string, error) {
	if t.live {
		return name, nil
	}
	resolved, links := "/", 0
	rest := strings.Split(path.Clean("/"+name), "/")[1:]
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			resolved = path.Dir(resolved)
			continue
		}
		next := path.Join(resolved, part)
		target, err := os.Readlink(filepath.Join(t.root, next))
		if err != nil { // no link, or not there
			resolved = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
		if path.IsAbs(target) {
			resolved = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return filepath.Join(t.root, resolved), nil
}

// resolve is a node's path without links, in the node's own sense.
func (t tree) resolve(name string) (string, error) {
	if t.live {
		return filepath.EvalSymlinks(name)
	}
	at, err := t.real(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(at); err != nil {
		return "", t.own(err, name)
	}
	return "/" + strings.Trim(strings.TrimPrefix(at, t.root), "/"), nil
}

// own gives an error the node's path instead of this host's.
func (t tree) own(err error, name string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
	}
	return err
}

// open opens a regular file. It does not wait for a pipe's other end.
func (t tree) open(name string) (*os.File, error) {
	at, err := t.real(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, t.own(err, name)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return nil, errors.Join(t.own(err, name), f.Close())
	}
	return f, nil
}

// text reads a text file, at most maxText of it.
func (t tree) text(name string) (string, error) { return t.head(name, maxText) }

// head reads the beginning of a text file.
func (t tree) head(name string, limit int64) (string, error) {
	f, err := t.open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", t.own(err, name)
	}
	return string(b), nil
}

// value reads a file of one line, as sysfs has them.
func (t tree) value(name string) (string, error) {
	s, err := t.text(name)
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line), err
}

// list is the sorted names in a directory; none where it does not exist.
func (t tree) list(name string) ([]string, error) {
	at, err := t.real(name)
	if err != nil {
		return nil, err
	}
	d, err := os.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, t.own(err, name)
	}
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, t.own(err, name)
	}
	slices.Sort(names)
	return names, nil
}

// stat follows links.
func (t tree) stat(name string) (fs.FileInfo, error) {
	at, err := t.real(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(at)
	return info, t.own(err, name)
}

func (t tree) exists(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

// linkName is the last name of a link's target (sysfs: driver, subsystem); "" if
// there is none.
func (t tree) linkName(name string) string {
	dir, err := t.real(path.Dir(name))
	if err != nil {
		return ""
	}
	target, err := os.Readlink(filepath.Join(dir, path.Base(name)))
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// deviceProblem says why users cannot use a device node; "" if they can. The
// reader may be root, who may open everything: the mode decides, not an attempt
// to open, which can also wake or reset devices.
func (t tree) deviceProblem(name string) string {
	info, err := t.stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name + " is missing"
	case err != nil:
		return err.Error()
	case t.live && info.Mode()&fs.ModeCharDevice == 0:
		return name + " is no device"
	case !usersMayOpen(info):
		return fmt.Sprintf("%s is not for users to open (mode %04o)", name, info.Mode().Perm())
	}
	return ""
}

// usersMayOpen: all may read and write it, or a group that is not root's may: who
// is in it cannot be known here.
func usersMayOpen(info fs.FileInfo) bool {
	const all, group = 0o006, 0o060
	mode := info.Mode().Perm()
	if mode&all == all {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return mode&group == group && ok && st.Gid != 0
}
