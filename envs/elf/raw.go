package elf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// raw is a regular file that is open for reading. Of 25,000 files, 23,000 are
// opened for four bytes: what package os does besides is half of the time.
type raw struct {
	fd   int
	size int64
}

// openRaw opens a file. ErrNotELF: it is no regular file. A pipe is not waited for.
func openRaw(path string) (*raw, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: errors.Join(err, unix.Close(fd))}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(fmt.Errorf("%s: %w: it is no regular file", path, ErrNotELF), unix.Close(fd))
	}
	return &raw{fd, st.Size}, nil
}

func (r *raw) close() error { return unix.Close(r.fd) }

// ReadAt implements io.ReaderAt.
func (r *raw) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		m, err := again(func() (int, error) { return unix.Pread(r.fd, p[n:], off+int64(n)) })
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// again repeats what a signal interrupted.
func again(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
