// Package squashfuse shows images without the kernel's squashfs: a program reads the image
// and answers the kernel through FUSE.
//
// Enters: an open image and an open /dev/fuse, mounted by who may. Leaves: a process that
// has become the program. It ends when the last mount of its /dev/fuse is gone; if it ends
// before, the mount answers ENOTCONN.
package squashfuse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Type is what the mount table calls it.
const Type = "fuse.squashfuse"

// programs, the faster first. Both are of the package squashfuse in Debian and in EPEL.
var programs = []string{"squashfuse_ll", "squashfuse"}

// ErrMissing: none of the programs is installed.
var ErrMissing = fmt.Errorf("squashfuse is not installed here (%w)", fs.ErrNotExist)

// Find finds a program in the standard directories, or in those given. An error is of class
// ErrMissing.
func Find(dirs ...string) (string, error) {
	for _, name := range programs {
		for _, dir := range append([]string{"/usr/bin", "/usr/local/bin", "/bin"}, dirs...) {
			p := filepath.Join(dir, name)
			info, err := os.Stat(p)
			if filepath.IsAbs(p) && err == nil && info.Mode().IsRegular() && unix.Access(p, unix.X_OK) == nil {
				return p, nil
			}
		}
	}
	return "", ErrMissing
}

// Mount mounts at target what will answer through the open /dev/fuse, read-only, nosuid and
// nodev, for all who get there; name is shown in the mount table, uid and gid are those of
// the program.
func Mount(fuse *os.File, name, target string, uid, gid int) error {
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other,default_permissions", fuse.Fd(), uid, gid)
	return unix.Mount(name, target, Type, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, options)
}

// Exec becomes the program, which serves the image and /dev/fuse of these descriptors. They
// must not be closed by exec. It returns only with an error.
func Exec(program string, image, fuse int) error {
	return become(program, program, image, fuse)
}

// become executes the file at path, under a program's name.
func become(path, program string, image, fuse int) error {
	argv := []string{program, "-f", fmt.Sprintf("/proc/self/fd/%d", image), fmt.Sprintf("/dev/fd/%d", fuse)}
	return &fs.PathError{Op: "exec", Path: program, Err: unix.Exec(path, argv, []string{"PATH=/usr/bin:/bin"})}
}

// Ended tells whether an error of a mounted path says that its program has ended.
func Ended(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}
