package server

import (
	"bytes"
	"context"
	"encoding/json"
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

// NodeBackend takes what nodes tell.
type NodeBackend interface {
	// NodeFacts keeps what a node says it is; from is where it was said. An error
	// with ExitUsage if node or data are not what they should be, or if from is not
	// an address of node.
	NodeFacts(ctx context.Context, node string, from netip.Addr, data []byte) error
}

// Remote serves other hosts over TCP. Every request carries a MUNGE credential over
// itself, every answer one of the daemon's account over itself.
type Remote struct {
	nodes    NodeBackend
	munge    munge.Munge
	classify func(error) *api.Error
	log      *slog.Logger
	http     *http.Server
	// credentials bounds how many are looked at or made at once, also for those who
	// have none: each is a process.
	credentials *semaphore.Weighted
}

const (
	// maxFacts bounds a request's body in bytes.
	maxFacts = 256 << 10
	// processes of MUNGE at once.
	processes = 8
	// connections at once, of all hosts and of one: with what a body may have they bound
	// the memory. Those beyond the first wait with the kernel, those beyond the second
	// are closed, so that one host cannot keep the others out.
	connections, connectionsOfHost = 512, 64
)

// NewRemote returns a Remote.
func NewRemote(nodes NodeBackend, m munge.Munge, opts Options) *Remote {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	s := &Remote{nodes: nodes, munge: m, classify: opts.Classify, log: opts.Log, credentials: semaphore.NewWeighted(processes)}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/nodes/{name}/facts", s.known(s.putFacts))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers on l until Close; it then returns nil.
func (s *Remote) Serve(l net.Listener) error {
	if err := s.http.Serve(limit(l, connections, connectionsOfHost)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close takes no new requests and waits for those at work until ctx ends.
func (s *Remote) Close(ctx context.Context) error { return s.http.Shutdown(ctx) }

// request is one whose sender munged vouches for.
type request struct {
	*http.Request
	uid  int
	from netip.Addr
	body []byte
}

// known calls do for a request with a good credential, and answers with what it
// returns. Without one nothing of the request is looked at.
func (s *Remote) known(do func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cred := r.Header.Get(munge.RequestHeader)
		status, answer := http.StatusOK, []byte("{}\n")
		if err := s.handle(r, w, cred, do); err != nil {
			e := s.classify(err)
			status = http.StatusInternalServerError
			switch e.Code {
			case api.ExitUsage:
				status = http.StatusForbidden
			case api.ExitUnreachable:
				status = http.StatusServiceUnavailable
			}
			s.log.Warn("a request of another host was refused", "from", r.RemoteAddr, "path", r.URL.Path, "err", err)
			if answer, err = json.Marshal(e); err != nil {
				s.log.Error("an error cannot be told", "err", err)
			}
		}
		var reply string
		err := s.bounded(r.Context(), func() (err error) {
			reply, err = s.munge.SignReply(r.Context(), cred, status, answer)
			return err
		})
		if err != nil {
			s.log.Error("an answer cannot be signed", "err", err)
			http.Error(w, "MUNGE", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(munge.ReplyHeader, reply)
		w.WriteHeader(status)
		if _, err := io.Copy(w, bytes.NewReader(answer)); err != nil {
			s.log.Info("client left", "path", r.URL.Path, "err", err)
		}
	}
}

// bounded runs what starts a process of MUNGE.
func (s *Remote) bounded(ctx context.Context, do func() error) error {
	if err := s.credentials.Acquire(ctx, 1); err != nil {
		return api.Errorf(api.ExitUnreachable, "the client left: %v", err)
	}
	defer s.credentials.Release(1)
	return do()
}

func (s *Remote) handle(r *http.Request, w http.ResponseWriter, cred string, do func(*request) error) error {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return fmt.Errorf("remote address: %w", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFacts))
	if err != nil {
		return api.Errorf(api.ExitUsage, "the request cannot be read: %v", err)
	}
	var c *munge.Credential
	err = s.bounded(r.Context(), func() (err error) {
		c, err = s.munge.VerifyRequest(r.Context(), cred, r.Method, r.URL.RequestURI(), body)
		return err
	})
	switch {
	case errors.Is(err, munge.ErrUnavailable):
		return api.Errorf(api.ExitUnreachable, "%v", err)
	case err != nil:
		return api.Errorf(api.ExitUsage, "%v", err)
	}
	return do(&request{Request: r, uid: c.UID, from: from.Addr().Unmap(), body: body})
}

// putFacts: what a node is only its root may say.
func (s *Remote) putFacts(r *request) error {
	if r.uid != 0 {
		return api.Errorf(api.ExitUsage, "only root tells what a node is; this was uid %d", r.uid)
	}
	return s.nodes.NodeFacts(r.Context(), r.PathValue("name"), r.from, r.body)
}
