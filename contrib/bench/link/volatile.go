package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forgetSyncs makes every later call of this process that makes something
// durable succeed without doing so, by a filter in the kernel. The program under
// test needs no switch for it, and a store that is meant to be kept never has
// one.
func forgetSyncs() error {
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	syncs := []uint32{unix.SYS_SYNCFS, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC}
	code := []unix.SockFilter{load(0)} // the number of the call
	for i, nr := range syncs {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(syncs) - i), K: nr})
	}
	code = append(code,
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO}) // error 0: success
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	// The other threads get the flag and the filter with it. No process pays for
	// being filtered with mitigations of speculation that others go without.
	const setModeFilter, tsync, specAllow = 1, 1, 4
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync|specAllow, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 || n != 0 {
		return fmt.Errorf("filter of system calls: %w (thread %d)", errno, n)
	}
	return nil
}
