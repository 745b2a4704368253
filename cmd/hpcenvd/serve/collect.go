//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/daemon/schedules"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// openCollector finishes what a kill interrupted, and lets prepares have back what was
// removed lately.
func openCollector(c config.GC, store *cache.Store, svc *service.Service, cat *catalog.Catalog, needed *leases.Keeper, log *slog.Logger) (*collect.Collector, error) {
	col, err := collect.New(collect.Options{
		Store: store, Index: cat.Index(), Leases: needed, Grace: c.Grace, Log: log, Alone: svc.Alone,
		Policy: policy(c),
	})
	if err != nil {
		return nil, err
	}
	svc.UseTrash(col.Restore)
	return col, nil
}

// sweepPatience is how long a sweep of the pool waits for a moment without prepares.
const sweepPatience = 10 * time.Minute

// sweep removes from the pool what no environment has any more.
func sweep(ctx context.Context, col *collect.Collector, log *slog.Logger) error {
	n, err := col.SweepPools(ctx, sweepPatience)
	if n.Packages+n.Files > 0 {
		log.Info("the pool was swept", "packages", n.Packages, "files", n.Files, "bytes", n.Bytes)
	}
	if errors.Is(err, service.ErrBusy) {
		return fmt.Errorf("%w: %w", schedules.ErrNothing, err) // next time
	}
	return err
}

// collectNow is one scheduled collection.
func collectNow(ctx context.Context, col *collect.Collector, log *slog.Logger) error {
	r, err := col.Collect(ctx)
	if err == nil && len(r.Removed)+r.Purged > 0 {
		log.Info("collected", "environments", len(r.Removed), "bytes", r.Bytes, "inodes", r.Inodes, "purged", r.Purged)
	}
	return err
}
