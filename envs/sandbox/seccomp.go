//go:build linux

package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// numbers are the system calls of one architecture that the filter names.
type numbers struct {
	arch  uint32
	clone uint32
	// always are refused in any case: sockets, tracing, name spaces, mounts, keys,
	// memory that is in no process (nothing bounds it), and what has had more holes
	// than use here. fork are refused where no process
	// may be started.
	always, fork []uint32
}

// clone3 has one number everywhere; its flags lie in memory, where no filter
// can see them. ENOSYS makes a C library use clone instead.
const clone3 = 435

var byArch = map[string]numbers{
	"amd64": {
		arch: unix.AUDIT_ARCH_X86_64, clone: 56,
		// socket, ptrace, unshare, setns, mount, umount2, pivot_root, chroot,
		// keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd,
		// process_vm_readv, process_vm_writev, mknod, mknodat, shmget, memfd_create
		always: append([]uint32{41, 101, 272, 308, 165, 166, 155, 161, 250, 248, 249, 321, 298, 323, 310, 311, 133, 259, 29, 319}, everywhere...),
		fork:   []uint32{57, 58, 53}, // fork, vfork, socketpair
	},
	"arm64": {
		arch: unix.AUDIT_ARCH_AARCH64, clone: 220,
		always: append([]uint32{198, 117, 97, 268, 40, 39, 41, 51, 219, 217, 218, 280, 241, 282, 270, 271, 33, 194, 279}, everywhere...),
		fork:   []uint32{199}, // socketpair
	},
}

// everywhere are numbers that all architectures share: io_uring_setup,
// open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr,
// memfd_secret.
var everywhere = []uint32{425, 428, 429, 430, 431, 432, 433, 442, 447}

// anyNamespace are the flags of clone that make a name space.
const anyNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// seccompFilter refuses what numbers name, and new processes (threads are allowed)
// or, with fork, new name spaces; calls of another architecture end the process.
func seccompFilter(n numbers, fork bool) []unix.SockFilter {
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
	refused := n.always
	if !fork {
		refused = append(slices.Clone(refused), n.fork...)
	}
	for _, nr := range refused {
		prog = append(prog, unix.SockFilter{Code: equal, Jf: 1, K: nr}, refuse)
	}
	// What of clone's flags lets it through: CLONE_THREAD, or no name space.
	flags := unix.SockFilter{Code: bits, Jt: 1, K: unix.CLONE_THREAD}
	if fork {
		flags = unix.SockFilter{Code: bits, Jf: 1, K: anyNamespace}
	}
	return append(prog,
		unix.SockFilter{Code: equal, Jf: 3, K: n.clone},
		unix.SockFilter{Code: load, K: offFlags},
		flags,
		refuse,
		allow)
}

// seccompFile is an open file with the filter, as bwrap wants it.
func seccompFile(fork bool) (*os.File, error) {
	n, ok := byArch[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("%w: this program knows no filter of system calls for %s", ErrNoSandbox, runtime.GOARCH)
	}
	var data []byte
	for _, f := range seccompFilter(n, fork) {
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
