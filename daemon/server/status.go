package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// StatusBackend tells how the daemon is.
type StatusBackend interface {
	// AdminStatus gathers it. It does not wait for storage that hangs.
	AdminStatus(ctx context.Context) (*api.AdminStatus, error)
}

// WatchBackend knows which locks are prepared when they change.
type WatchBackend interface {
	// Status of all of them.
	Status() []api.WatchedLock
}

// statusRoutes tell administrators how the daemon is.
func (s *Server) statusRoutes() []Route {
	return []Route{
		{Method: "GET", Pattern: "/v1/watched", For: Support, What: "see which locks are watched", Answer: func(*Request) (any, error) {
			if s.backends.Watched == nil {
				return nil, errNotHere
			}
			return s.backends.Watched.Status(), nil
		}},
		{Method: "GET", Pattern: "/v1/admin/status", For: Support, What: "see how the daemon is", Answer: func(r *Request) (any, error) {
			if s.backends.Status == nil {
				return nil, errNotHere
			}
			return s.backends.Status.AdminStatus(r.Context())
		}},
	}
}

// Counts of prepares since the daemon started.
type Counts struct {
	// Done and Failed answers; Joined of them waited for work that another had asked for.
	Done, Failed, Joined int
	// Seconds that all answers took together.
	Seconds float64
	// PackagesNew and Bytes were fetched.
	PackagesNew, Bytes int64
}

type counts struct {
	mu sync.Mutex
	Counts
}

// count counts one answer. That archives must be brought is none: the client asks again.
func (s *Server) count(j *job, joined bool, asked time.Time) {
	var need *api.NeedError
	if errors.As(j.err, &need) {
		return
	}
	c := &s.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Seconds += time.Since(asked).Seconds()
	if joined {
		c.Joined++
	}
	if j.err != nil {
		c.Failed++
		return
	}
	c.Done++
	if !joined {
		c.PackagesNew += int64(j.result.PackagesNew)
		c.Bytes += j.result.BytesFetched
	}
}

// Counts of prepares since the daemon started.
func (s *Server) Counts() Counts {
	s.counted.mu.Lock()
	defer s.counted.mu.Unlock()
	return s.counted.Counts
}
