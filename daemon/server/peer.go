package server

import (
	"context"
	"net"
	"net/http"
	"unsafe"

	"golang.org/x/sys/unix"
)

type peerKey struct{}

type groupsKey struct{}

// withPeer asks the kernel, once per connection, who is on the other end.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	var groups []int
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		if cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); cerr == nil {
			groups = socketGroups(fd)
		}
	}); err != nil || cerr != nil {
		return ctx
	}
	ctx = context.WithValue(ctx, groupsKey{}, append([]int{int(cred.Gid)}, groups...))
	return context.WithValue(ctx, peerKey{}, *cred)
}

// peer returns who sent r; ok is false if the kernel did not tell.
func peer(r *http.Request) (unix.Ucred, bool) {
	c, ok := r.Context().Value(peerKey{}).(unix.Ucred)
	return c, ok
}

// peerGroups are the groups of who sent r, the primary one first; none if the kernel
// did not tell.
func peerGroups(r *http.Request) []int {
	groups, _ := r.Context().Value(groupsKey{}).([]int)
	return groups
}

// socketGroups are the supplementary groups that the other end had when it
// connected. Where the kernel does not tell, there are none: who is in the dark sees
// less.
func socketGroups(fd uintptr) []int {
	buf := make([]uint32, 64)
	for {
		size := uint32(len(buf) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0)
		if errno == unix.ERANGE && int(size/4) > len(buf) {
			buf = make([]uint32, size/4)
			continue
		}
		if errno != 0 {
			return nil
		}
		out := make([]int, 0, size/4)
		for _, g := range buf[:size/4] {
			out = append(out, int(g))
		}
		return out
	}
}
