//go:build linux

package serve

import (
	"context"
	"log/slog"

	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/daemon/watch"
)

// watched are the entries of the configuration.
func watched(c config.Watch) []watch.Entry {
	out := make([]watch.Entry, 0, len(c.Locks))
	for _, e := range c.Locks {
		out = append(out, watch.Entry(e))
	}
	return out
}

// newWatcher prepares what changed as one client among others: it never takes all of the
// daemon's work.
func newWatcher(c config.Watch, svc *service.Service, log *slog.Logger) *watch.Watcher {
	return watch.New(watched(c), watch.Options{Log: log, Prepare: func(ctx context.Context, req *api.PrepareRequest) (*api.PrepareResult, error) {
		return svc.Prepare(fair.With(ctx, "watch"), req, nil)
	}})
}
