package cache

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// makeEmpty makes an empty file with this mode in the directory dirfd by one call.
func makeEmpty(dirfd int, name string, mode uint32) error {
	return unix.Mknodat(dirfd, name, unix.S_IFREG|mode, 0)
}

// cloneFile makes the file to share the blocks of from.
func cloneFile(to, from int) error { return unix.IoctlFileClone(to, from) }

// syncFileSystem makes all that was written to fd's file system durable.
func syncFileSystem(fd int) error { return unix.Syncfs(fd) }

// renameNew gives from the name to, unless to is there (EEXIST).
func renameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// futimens gives an open file its times. (Its name would do as well, but has to
// be looked up; kernels before 5.8 take no empty name for it.)
func futimens(fd int, times []unix.Timespec) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
