package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Backend is the work behind the socket; daemon/service has it.
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

// Options of a Server.
type Options struct {
	// Log; nil = slog.Default().
	Log *slog.Logger
	// Classify turns any error of the Backend into one with an exit code.
	Classify func(error) *api.Error
	// MaxBody bounds a prepare request in bytes; 0 = 64 MiB (a lock of 20 MB is
	// the largest promised, and JSON makes it a third longer).
	MaxBody int64
}

// Server serves one Backend.
type Server struct {
	backend Backend
	opts    Options
	log     *slog.Logger
	http    *http.Server
	jobs    *jobs
	budgets *budgets
}

// New returns a Server. Work that clients start runs until Close ends.
func New(b Backend, opts Options) *Server {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = 64 << 20
	}
	s := &Server{backend: b, opts: opts, log: opts.Log, jobs: newJobs(), budgets: newBudgets(4 * opts.MaxBody)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/prepare", s.prepare)
	mux.HandleFunc("GET /v1/environments", s.list)
	mux.HandleFunc("GET /v1/environments/{id}", s.inspect)
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("POST /v1/site-builds/{id}/retry", s.retrySiteBuilds)
	mux.HandleFunc("PUT /v1/archives/{sha256}", s.putArchive)
	s.http = &http.Server{
		Handler:           mux,
		ConnContext:       withPeer,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelWarn),
	}
	return s
}

// Listen makes the socket at path, open to every user of the host. A socket
// that a dead daemon left is replaced; one that answers is an error.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if conn, err := net.DialTimeout("unix", path, 2*time.Second); err == nil {
		if err := conn.Close(); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
		return nil, fmt.Errorf("socket %s: another hpcenvd answers there\nnext: systemctl status hpcenvd", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket %s: left by a daemon that is gone, and cannot be removed: %w", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

// Serve answers on l until Close; it then returns nil.
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
