//go:build cluster

package clustertest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denials are what a kernel can lack, as a program meets it: a system call whose argument
// number arg has this value fails with errno.
var denials = map[string]struct {
	call, arg, value uint32
	errno            unix.Errno
}{
	// Of all mounts a launch makes, those of file systems from devices have these flags.
	"no-squashfs": {unix.SYS_MOUNT, 3, unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV, unix.ENODEV},
	"no-loops":    {unix.SYS_IOCTL, 1, unix.LOOP_CTL_GET_FREE, unix.ENOSPC},
}

// deny KIND PROGRAM ARGUMENTS…: runs the program where the kernel lacks what KIND says.
func deny(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: deny KIND PROGRAM ARGUMENTS…")
	}
	d, ok := denials[args[0]]
	if !ok {
		return fmt.Errorf("deny: no kind %q", args[0])
	}
	runtime.LockOSThread() // the filter is this thread's, which becomes the program
	// Of struct seccomp_data: the call's number, then, from byte 16, its arguments.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: d.call, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 8*d.arg},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: d.value, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(d.errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return fmt.Errorf("%s: %w", args[1], unix.Exec(args[1], args[1:], os.Environ()))
}
