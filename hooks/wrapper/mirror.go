package wrapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// A directory in which nothing can be made is covered, in this namespace only, with a
// small file system that has all the directory had, each bound at its old name, and room
// for more. It is read-only otherwise: what would be written to it would be lost.

const coverFlags = unix.MS_NOSUID | unix.MS_NODEV

// mirror covers a directory.
func mirror(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "%s cannot be covered with a file system that has room for the environment: %v\nnext: ask the administrator", dir, err)
	}
	old, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	if err = mountEmpty(dir); err == nil {
		err = fill(fmt.Sprintf("/proc/self/fd/%d", old.Fd()), dir, entries)
	}
	if err == nil {
		err = readOnly(dir, true)
	}
	return errors.Join(err, old.Close())
}

func mountEmpty(dir string) error {
	if err := unix.Mount("hpcenv", dir, "tmpfs", coverFlags, "mode=0755,size=16m"); err != nil {
		return fmt.Errorf("an empty file system cannot be mounted at %s: %w", dir, err)
	}
	return nil
}

// fill binds what a directory had into an empty one.
func fill(from, to string, entries []os.DirEntry) error {
	for _, e := range entries {
		err := bindEntry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it is gone meanwhile
			return fmt.Errorf("%s cannot be shown beside the environment: %w", filepath.Join(to, e.Name()), err)
		}
	}
	return nil
}

func bindEntry(from, to string, e os.DirEntry) error {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case e.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, nil, 0o644); err != nil {
			return err
		}
	}
	return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
}

// writable makes a covered directory writable for as long as do runs.
func writable(dir string, do func() error) error {
	if err := readOnly(dir, false); err != nil {
		return err
	}
	return errors.Join(do(), readOnly(dir, true))
}

func readOnly(dir string, yes bool) error {
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | coverFlags)
	if yes {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		return fmt.Errorf("mount options of %s: %w", dir, err)
	}
	return nil
}

// makeDir sees that a directory is there, if need be in this namespace only: then the
// nearest one above it that is there is covered.
func makeDir(dir string) error {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			err = unix.ENOTDIR
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return api.Errorf(api.ExitUnreachable, "this host has no %s, the place where environments appear: %v\nnext: ask the administrator to make the (empty) directory: mkdir -p %s", dir, err, dir)
		}
		at = filepath.Dir(at)
	}
	if at == dir {
		return nil
	}
	cover := mirror
	if at == "/" {
		cover = func(string) error { return mirrorRoot() }
	}
	if err := cover(at); err != nil {
		return err
	}
	return writable(at, func() error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("attaching: %w", err)
		}
		return nil
	})
}

// mirrorRoot is mirror for "/": nothing can be mounted over that, so that another file
// system takes its place.
func mirrorRoot() error {
	const seat, old = "/tmp", "/.hpcenv-host"
	entries, err := os.ReadDir("/")
	if err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	if err := mountEmpty(seat); err != nil {
		return err
	}
	if err := os.Mkdir(seat+old, 0o755); err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	if err := unix.PivotRoot(seat, seat+old); err != nil {
		return fmt.Errorf("another root directory: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("attaching: %w", err)
	}
	if err := fill(old, "/", entries); err != nil {
		return err
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("the host's root directory at %s: %w", old, err)
	}
	return errors.Join(os.Remove(old), readOnly("/", true))
}

// fdPath is a path by which a child reaches a descriptor that it inherits.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
