//go:build linux

package serve

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/daemon/schedules"
	"github.com/hpcenv/hpcenv/daemon/server"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// health gathers how the daemon is from all its rooms.
type health struct {
	since time.Time
	store *cache.Store
	cat   *catalog.Catalog
	need  *leases.Keeper
	col   *collect.Collector
	sched *schedules.Scheduler
	srv   *server.Server

	mu   sync.Mutex
	full unix.Statfs_t
	seen bool
	busy bool
}

// patience is how long the store's file system may take to say how full it is.
const patience = 2 * time.Second

// statfs asks the store's file system how full it is. One that hangs is not waited for,
// nor asked again before it has answered; then what it said last counts.
func (h *health) statfs() (fs unix.Statfs_t, ok bool) {
	h.mu.Lock()
	ask := !h.busy
	h.busy = true
	h.mu.Unlock()
	done := make(chan struct{})
	if ask {
		go func() {
			defer close(done)
			var fs unix.Statfs_t
			err := unix.Statfs(h.store.Root(), &fs)
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.busy = false; err == nil {
				h.full, h.seen = fs, true
			}
		}()
	}
	answered := false
	select {
	case <-done:
		answered = ask
	case <-time.After(patience):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.full, answered && h.seen
}

// AdminStatus gathers it.
func (h *health) AdminStatus(ctx context.Context) (*api.AdminStatus, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	st := &api.AdminStatus{
		Version: service.Version(), Host: host, PID: os.Getpid(), Since: h.since.UTC().Format(time.RFC3339), Store: h.store.Root(),
		Work: h.srv.Work(), Schedules: h.sched.Status(), Leases: h.need.Status(), GC: h.col.Status(), Warnings: []string{},
	}
	warn := func(format string, args ...any) { st.Warnings = append(st.Warnings, fmt.Sprintf(format, args...)) }
	full, ok := h.statfs()
	if st.FreeBytes, st.FreeInodes = int64(full.Bavail)*full.Bsize, int64(full.Ffree); !ok {
		warn("the store %s does not say how full it is within %s", st.Store, patience)
	} else if full.Blocks > 0 && float64(full.Bavail) < 0.05*float64(full.Blocks) {
		warn("the store's file system is more than 95%% full: %d bytes are free", st.FreeBytes)
	}
	index, err := h.cat.Status(ctx)
	if err != nil {
		warn("the index does not answer: %v", err)
	}
	st.Index = index
	if index.Damaged != "" {
		warn("the index was damaged and made anew; the old one is %s", index.Damaged)
	}
	if n := len(index.Broken); n > 0 {
		warn("%d environments cannot be read, the first: %s", n, index.Broken[0])
	}
	if st.GC.Over != "" {
		warn("the budget is exceeded: %s", st.GC.Over)
	}
	for _, s := range st.Schedules {
		if s.Problem != "" {
			problem, _, _ := strings.Cut(s.Problem, "\n")
			warn("%s failed: %s", s.Name, problem)
		}
	}
	return st, nil
}
