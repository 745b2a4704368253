package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
)

// Backend is the work behind the API; daemon/service has it.
type Backend interface {
	api.Service
	// PutArchive takes the bytes of an archive that a NeedError asked for, from a
	// user whose primary group is group.
	PutArchive(ctx context.Context, group int, sha256 string, r io.Reader) error
	// Holds reports whether an archive is in the part of the store that only group
	// reads.
	Holds(group int, sha256 string) (bool, error)
	// OwnParts are those of the groups on which it depends what is prepared for their
	// members, in order.
	OwnParts(groups []int) []int
	// ListFor and InspectFor are List and Inspect for a member of these groups.
	ListFor(ctx context.Context, groups []int) ([]api.Environment, error)
	InspectFor(ctx context.Context, groups []int, id string) (*api.EnvironmentDetail, error)
	// RetrySiteBuilds builds again what failed of an environment.
	RetrySiteBuilds(ctx context.Context, id, name string) ([]api.EnvironmentBuilds, error)
}

// NodeBackend takes what nodes tell.
type NodeBackend interface {
	// NodeFacts keeps what a node says it is; from is where it was said. An error
	// with ExitUsage if node or data are not what they should be, or if from is not
	// an address of node.
	NodeFacts(ctx context.Context, node string, from netip.Addr, data []byte) error
}

// Backends are the rooms that answer. One that is nil is not there, and what is asked of
// it is an error.
type Backends struct {
	// Work is never nil.
	Work  Backend
	Nodes NodeBackend
	// Index of the store; nil = there is none.
	Index IndexBackend
	// Leases of the store; nil = there are none.
	Leases LeaseBackend
	// GC of the store; nil = nothing is collected.
	GC GCBackend
	// Mine knows what users asked for; nil = nothing does. Budgets bound it; nil = nothing
	// is bounded.
	Mine    MineBackend
	Budgets *budget.Keeper
	// Config of the daemon; nil = it does not tell.
	Config ConfigBackend
	// Watched locks; nil = there are none.
	Watched WatchBackend
	// Status of the daemon; nil = it does not tell.
	Status StatusBackend
}

// Options of a Server.
type Options struct {
	// Log; nil = slog.Default().
	Log *slog.Logger
	// Classify turns any error of the backends into one with an exit code.
	Classify func(error) *api.Error
	// MaxBody bounds a prepare request in bytes; 0 = 64 MiB (a lock of 20 MB is
	// the largest promised, and JSON makes it a third longer).
	MaxBody int64
	// Access says who has which role.
	Access Access
}

// Server answers what is in its Table.
type Server struct {
	backends Backends
	opts     Options
	log      *slog.Logger
	table    []Route
	who      atomic.Pointer[Access]
	counted  counts
	http     *http.Server
	jobs     *jobs
	shares   *shares
	groups   *groups
	// account is the daemon's own uid.
	account int
	// instance is another one whenever the daemon starts.
	instance string
}

// New returns a Server. Work that clients start runs until Close ends.
func New(b Backends, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = 64 << 20
	}
	s := &Server{backends: b, opts: opts, log: opts.Log, jobs: newJobs(), shares: newShares(4 * opts.MaxBody), groups: newGroups(opts.Log), account: os.Geteuid(), instance: mungehttp.NewInstance()}
	s.SetAccess(opts.Access)
	s.table = s.Table()
	s.http = &http.Server{
		Handler:           s.handler(s.local),
		ConnContext:       withPeer,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn),
	}
	return s
}

// SetAccess changes who has which role, for requests that come from now on.
func (s *Server) SetAccess(a Access) { s.who.Store(&a) }

func (s *Server) access() *Access { return s.who.Load() }

// handler answers what is in the table; enter finds out who asks.
func (s *Server) handler(enter func(*Route) http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	for i := range s.table {
		rt := &s.table[i]
		if err := rt.check(); err != nil {
			panic(fmt.Sprintf("route %s %s %v", rt.Method, rt.Pattern, err)) // a fault of the program, found by every test
		}
		mux.HandleFunc(rt.Method+" "+rt.Pattern, enter(rt))
	}
	// What a client asks that knows more than this daemon.
	mux.HandleFunc("/", enter(&Route{For: User, What: "ask", Answer: func(r *Request) (any, error) {
		return nil, api.Errorf(api.ExitUsage, "this hpcenvd has no %s %s\nnext: compare `hpcenv --version` here with `hpcenvd --version` on the daemon's host: the two should be of one release", r.Method, r.URL.Path)
	}}))
	return mux
}

// local answers over the socket, where the kernel tells who asks.
func (s *Server) local(rt *Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.serve(rt, w, r, s.localCaller(r.Context()))
	}
}

// Serve answers on l, a Unix socket, until Close; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close takes no new requests, tells running work to stop, and waits for both
// until ctx ends. What work had finished by then is kept in the store.
func (s *Server) Close(ctx context.Context) error {
	s.jobs.cancel()
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.jobs.wait(ctx))
}
