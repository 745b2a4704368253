package server

import (
	"context"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

type peerKey struct{}

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
	return context.WithValue(ctx, peerKey{}, Caller{
		UID: int(cred.Uid), GID: int(cred.Gid), Groups: append([]int{int(cred.Gid)}, groups...),
	})
}

// localCaller is who is on the other end of a request's connection; nil = the kernel did
// not tell. The roles are those of now: the configuration may have changed since the
// connection began.
func (s *Server) localCaller(ctx context.Context) *Caller {
	c, ok := ctx.Value(peerKey{}).(Caller)
	if !ok {
		return nil
	}
	c.Roles = s.access().roles(&c, s.account)
	return &c
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
