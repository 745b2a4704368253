package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
)

// TCP serves a Server's table to other hosts: requests and answers are of package
// mungehttp.
type TCP struct {
	server *Server
	gate   *mungehttp.Gate
	http   *http.Server
}

// connections at once, of all hosts and of one: with what a body may have they bound
// the memory. Those beyond the first wait with the kernel, those beyond the second
// are closed, so that one host cannot keep the others out. A login node may have 200 users
// who ask at once.
const connections, connectionsOfHost = 2048, 512

// NewTCP returns a TCP that answers for s.
func NewTCP(s *Server, m munge.Munge) *TCP {
	t := &TCP{server: s, gate: mungehttp.NewGate(m, s.instance)}
	t.http = &http.Server{
		Handler:           s.handler(t.enter),
		ReadHeaderTimeout: 10 * time.Second,
		// Until it is known who asks; then each route has its own.
		ReadTimeout:    20 * time.Second,
		IdleTimeout:    30 * time.Second,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return t
}

// Serve answers on l until Close; it then returns nil.
func (t *TCP) Serve(l net.Listener) error {
	if err := t.http.Serve(limit(l, connections, connectionsOfHost)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close takes no new requests and waits for those at work until ctx ends.
func (t *TCP) Close(ctx context.Context) error { return t.http.Shutdown(ctx) }

// enter answers a request with a good credential. Without one nothing of the request is
// looked at, unless its route is for strangers.
func (t *TCP) enter(rt *Route) http.HandlerFunc {
	if rt.For&Stranger != 0 {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(strangersWithin)); err != nil {
				t.server.log.Warn("an answer's time cannot be bounded", "err", err)
				return
			}
			t.server.serve(rt, w, r, nil)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		sender, out, in, err := t.gate.Enter(w, r)
		if err != nil {
			t.refuse(w, r, err)
			return
		}
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			t.refuse(w, r, fmt.Errorf("remote address: %w", err))
			return
		}
		caller := &Caller{UID: sender.UID, GID: sender.GID, Groups: t.server.groups.of(r.Context(), sender.UID, sender.GID), Host: from.Addr().Unmap()}
		caller.Roles = t.server.access().roles(caller, t.server.account)
		t.server.serve(rt, out, in, caller)
		if err := out.Close(); err != nil {
			t.server.log.Info("client left", "caller", caller, "path", r.URL.Path, "err", err)
		}
	}
}

// strangersWithin bounds the writing of an answer to who is not known.
const strangersWithin = 10 * time.Second

// refuse answers a request of somebody who is not known.
func (t *TCP) refuse(w http.ResponseWriter, r *http.Request, cause error) {
	t.server.log.Warn("a request of another host was refused", "from", r.RemoteAddr, "path", r.URL.Path, "err", cause)
	status := http.StatusInternalServerError
	var told error
	switch {
	case errors.Is(cause, munge.ErrUnavailable):
		status, told = http.StatusServiceUnavailable, api.Errorf(api.ExitUnreachable, "%v\nnext: on the daemon's host, systemctl status munge", cause)
	case errors.Is(cause, mungehttp.ErrInstance):
		status, told = http.StatusConflict, api.Errorf(api.ExitUnreachable, "%v\nnext: the same command again", cause)
	case errors.Is(cause, munge.ErrCredential):
		status, told = http.StatusForbidden, api.Errorf(api.ExitUsage, "%v\nnext: compare clocks and MUNGE keys of both hosts (munge -n | ssh HOST unmunge), and the releases of hpcenv", cause)
	default:
		told = cause
	}
	data, err := encode(t.server.opts.Classify(told))
	if err == nil {
		err = t.gate.Refuse(w, r, status, data)
	}
	if err != nil {
		t.server.log.Warn("a refusal was not told", "from", r.RemoteAddr, "err", err)
	}
}
