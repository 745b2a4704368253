package squashfuse

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Hidden is a copy of a program, in memory, that only root may read and all may execute, to
// be used in the program's place. What executes a program that it may not read cannot be
// traced, nor may its memory or descriptors be taken, by others of the same user (the kernel
// looks at who may read the file; it takes Exec's descriptor for the file that it is).
//
// A server runs as the job's user and outside of the job's step: to whoever could trace it
// it would be a process that Slurm neither counts, limits nor ends.
func Hidden(program string) (_ *os.File, err error) {
	from, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	fd, err := unix.MemfdCreate("squashfuse", unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("squashfuse", 0) // before Linux 6.3
	}
	if err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), program)
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Chmod(0o111)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return reopened(f)
}

// reopened is the same file, open for nothing but being executed: a file that is open for
// writing is not (ETXTBSY).
func reopened(f *os.File) (*os.File, error) {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// ExecHidden is Exec of a file from Hidden.
func ExecHidden(program *os.File, image, fuse int) error {
	return become(fmt.Sprintf("/proc/self/fd/%d", program.Fd()), program.Name(), image, fuse)
}
