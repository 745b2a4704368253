package server

import (
	"context"
	"net"
	"net/http"

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
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || cerr != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, *cred)
}

// peer returns who sent r; ok is false if the kernel did not tell.
func peer(r *http.Request) (unix.Ucred, bool) {
	c, ok := r.Context().Value(peerKey{}).(unix.Ucred)
	return c, ok
}
