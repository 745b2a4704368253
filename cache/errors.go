package cache

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// storeError makes an ErrStore error of what the file system said when doing
// op at path. It adds the next step where the cause has one.
func storeError(op, path string, err error) error {
	if err == nil || errors.Is(err, ErrStore) {
		return err
	}
	if next := nextStep(err); next != "" {
		return fmt.Errorf("%w: %s %s: %w; %s", ErrStore, op, path, cause(err), next)
	}
	return fmt.Errorf("%w: %s %s: %w", ErrStore, op, path, cause(err))
}

// cause takes the path and operation that package os adds off an error, since
// the message names them already.
func cause(err error) error {
	var pe *os.PathError
	var le *os.LinkError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	case errors.As(err, &se):
		return se.Err
	}
	return err
}

func nextStep(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "free space or inodes there, or let the administrator collect unused environments"
	case errors.Is(err, unix.EDQUOT):
		return "the quota of the store's owner is used up: raise it or collect unused environments"
	case errors.Is(err, unix.EROFS):
		return "the file system is mounted read-only here: write on a host that mounts it read-write"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "only the store's owner may do this: ask the daemon, or check owner and modes"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOTCONN):
		return "check that the store is mounted on this host and that its path is right"
	case errors.Is(err, unix.ESTALE):
		return "the server replaced the file system under this mount: mount it again"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
		return "the file system offers no file locks: mount it with locks (flock) enabled"
	}
	return ""
}

// PackageError tells programs which package could not be brought into the store; its
// text is that of Err, which names the package.
type PackageError struct {
	// SHA256 of the package.
	SHA256 string
	Err    error
}

func (e *PackageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PackageError) Unwrap() error { return e.Err }
