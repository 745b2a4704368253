package linkscript

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openDirs gives their owner access to all directories below root, however deep
// they lie. Links are not followed, even where somebody puts one in a directory's
// place meanwhile: a folder of the spool is another account's, too.
func openDirs(root string) error {
	return openDirsAt(unix.AT_FDCWD, root)
}

func openDirsAt(dirfd int, name string) error {
	at, err := unix.Openat(dirfd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at) // not even read
	if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", at), 0o700); err != nil {
		return err
	}
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close() // only read
	entries, err := dir.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, openDirsAt(fd, e.Name()))
		}
	}
	return err
}
