package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge"
)

// TCP serves a Server's table to other hosts. Every request carries a MUNGE credential
// over itself, every answer one of the daemon's account over itself.
type TCP struct {
	server *Server
	munge  munge.Munge
	http   *http.Server
	// credentials bounds how many are looked at or made at once, also for those who
	// have none: each is a process.
	credentials *semaphore.Weighted
}

const (
	// processes of MUNGE at once.
	processes = 8
	// connections at once, of all hosts and of one: with what a body may have they bound
	// the memory. Those beyond the first wait with the kernel, those beyond the second
	// are closed, so that one host cannot keep the others out.
	connections, connectionsOfHost = 512, 64
)

// NewTCP returns a TCP that answers for s.
func NewTCP(s *Server, m munge.Munge) *TCP {
	t := &TCP{server: s, munge: m, credentials: semaphore.NewWeighted(processes)}
	t.http = &http.Server{
		Handler:           s.handler(t.enter),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
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
// looked at.
func (t *TCP) enter(rt *Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cred := r.Header.Get(munge.RequestHeader)
		answer := &buffered{header: http.Header{}, status: http.StatusOK}
		caller, err := t.caller(r, w, cred)
		if err != nil {
			t.server.log.Warn("a request of another host was refused", "from", r.RemoteAddr, "path", r.URL.Path, "err", err)
			t.server.fail(answer, r, err)
		} else {
			t.server.serve(rt, answer, r, caller)
		}
		var reply string
		err = t.bounded(r.Context(), func() (err error) {
			reply, err = t.munge.SignReply(r.Context(), cred, answer.status, answer.body.Bytes())
			return err
		})
		if err != nil {
			t.server.log.Error("an answer cannot be signed", "err", err)
			http.Error(w, "MUNGE", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(munge.ReplyHeader, reply)
		w.WriteHeader(answer.status)
		if _, err := w.Write(answer.body.Bytes()); err != nil {
			t.server.log.Info("client left", "path", r.URL.Path, "err", err)
		}
	}
}

// bounded runs what starts a process of MUNGE.
func (t *TCP) bounded(ctx context.Context, do func() error) error {
	if err := t.credentials.Acquire(ctx, 1); err != nil {
		return api.Errorf(api.ExitUnreachable, "the client left: %v", err)
	}
	defer t.credentials.Release(1)
	return do()
}

// caller is who made the credential of a request, over all of the request.
func (t *TCP) caller(r *http.Request, w http.ResponseWriter, cred string) (*Caller, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil, fmt.Errorf("remote address: %w", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFacts))
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "the request cannot be read: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var c *munge.Credential
	err = t.bounded(r.Context(), func() (err error) {
		c, err = t.munge.VerifyRequest(r.Context(), cred, r.Method, r.URL.RequestURI(), body)
		return err
	})
	switch {
	case errors.Is(err, munge.ErrUnavailable):
		return nil, api.Errorf(api.ExitUnreachable, "%v", err)
	case err != nil:
		return nil, &credentialError{err}
	}
	caller := &Caller{UID: c.UID, GID: c.GID, Groups: []int{c.GID}, Host: from.Addr().Unmap()}
	caller.Roles = t.server.access().roles(caller, ownAccount())
	return caller, nil
}

// credentialError: what a request carries vouches for nobody.
type credentialError struct{ err error }

func (e *credentialError) Error() string { return e.err.Error() }

func (e *credentialError) Unwrap() []error {
	return []error{e.err, api.ErrForbidden, api.Errorf(api.ExitUsage, "credential")}
}

// buffered is an answer that is signed as a whole.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header               { return b.header }
func (b *buffered) WriteHeader(status int)            { b.status = status }
func (b *buffered) Write(p []byte) (int, error)       { return b.body.Write(p) }
func (b *buffered) SetReadDeadline(_ time.Time) error { return nil } // the server's ReadTimeout counts
func (b *buffered) Flush()                            {}
