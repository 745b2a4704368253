package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/project"
)

// maxLock bounds a lock in bytes (20 MB is the largest that is promised).
const maxLock = 64 << 20

// stamp tells whether a file changed.
type stamp struct {
	inode    uint64
	size     int64
	modified time.Time
}

var (
	errSame  = errors.New("unchanged")
	errYoung = errors.New("changed a moment ago")
	// errKind: what is there is no file that is taken.
	errKind = errors.New("it is no regular file; links are not followed")
)

// find are the locks that a path, a directory or a pattern stands for. What is not there
// is no error: it may come.
func find(path string) ([]string, error) {
	named := []string{path}
	if strings.ContainsAny(path, `*?[\`) {
		var err error
		if named, err = filepath.Glob(path); err != nil {
			return nil, fmt.Errorf("watch.locks: %s: %w", path, err)
		}
	}
	var locks []string
	var errs []error
	for _, p := range named {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("watched: %w", err))
		case !info.IsDir():
			locks = append(locks, p)
		default:
			found, err := in(p)
			locks, errs = append(locks, found...), append(errs, err)
		}
	}
	return locks, errors.Join(errs...)
}

// in are the locks of a directory and of the directories in it, a lock each. Directories
// that are links are left out: they may lead anywhere.
func in(dir string) ([]string, error) {
	dirs := []string{dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("watched: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	var locks []string
	for _, d := range dirs {
		// What cannot be looked into, or has a lock that is none, is found again when it is
		// opened, or is nobody's wish.
		if path, found, err := project.LockIn(d); err == nil && found {
			locks = append(locks, path)
		}
	}
	return locks, nil
}

// read reads a lock if want, which sees what the open file is, does not object.
func read(path string, want func(stamp) error) ([]byte, stamp, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, stamp{}, fmt.Errorf("%s: %w", path, errKind)
	}
	if err != nil {
		return nil, stamp{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // only read
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	now := stamp{st.Ino, st.Size, time.Unix(st.Mtim.Unix())}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, now, fmt.Errorf("%s: %w", path, errKind)
	case st.Size > maxLock:
		return nil, now, fmt.Errorf("%s has %d bytes, a lock has at most %d", path, st.Size, maxLock)
	}
	if err := want(now); err != nil {
		return nil, now, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLock))
	return data, now, err
}
