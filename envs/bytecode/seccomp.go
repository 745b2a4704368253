package bytecode

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// numbers are the system calls of one architecture that the filter names.
type numbers struct {
	arch   uint32
	clone  uint32
	refuse []uint32
}

// clone3 has one number everywhere; its flags lie in memory, where no filter
// can see them. ENOSYS makes a C library use clone instead.
const clone3 = 435

var byArch = map[string]numbers{
	// fork, vfork, socket, socketpair, ptrace, io_uring_setup
	"amd64": {arch: unix.AUDIT_ARCH_X86_64, clone: 56, refuse: []uint32{57, 58, 41, 53, 101, 425}},
	// socket, socketpair, ptrace, io_uring_setup
	"arm64": {arch: unix.AUDIT_ARCH_AARCH64, clone: 220, refuse: []uint32{198, 199, 117, 425}},
}

// seccompFilter forbids new processes (threads are allowed) and sockets of any
// kind; calls of another architecture end the process.
func seccompFilter(n numbers) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K

		offNumber, offArch, offFlags = 0, 4, 16 // of struct seccomp_data; flags: the low half of the first argument
		otherABI                     = 0x40000000
	)
	refuse := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	absent := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	prog := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal, Jt: 1, K: n.arch},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: offNumber},
		{Code: least, Jf: 1, K: otherABI},
		refuse,
		{Code: equal, Jf: 1, K: clone3},
		absent,
	}
	for _, nr := range n.refuse {
		prog = append(prog, unix.SockFilter{Code: equal, Jf: 1, K: nr}, refuse)
	}
	return append(prog,
		unix.SockFilter{Code: equal, Jf: 3, K: n.clone},
		unix.SockFilter{Code: load, K: offFlags},
		unix.SockFilter{Code: bits, Jt: 1, K: unix.CLONE_THREAD},
		refuse,
		allow)
}

// seccompFile is an open file with the filter, as bwrap wants it.
func seccompFile() (*os.File, error) {
	n, ok := byArch[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("%w: this program knows no filter of system calls for %s", ErrNoSandbox, runtime.GOARCH)
	}
	var data []byte
	for _, f := range seccompFilter(n) {
		data = binary.NativeEndian.AppendUint16(data, f.Code)
		data = append(data, f.Jt, f.Jf)
		data = binary.NativeEndian.AppendUint32(data, f.K)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe for the sandbox: %w", err)
	}
	// Far less than what a pipe holds: the write does not wait for a reader.
	_, err = w.Write(data)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("pipe for the sandbox: %w", err)
	}
	return r, nil
}
