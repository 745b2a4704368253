//go:build linux

package serve

import (
	"context"
	"log/slog"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// openCollector finishes what a kill interrupted, and lets prepares have back what was
// removed lately.
func openCollector(c config.GC, store *cache.Store, svc *service.Service, cat *catalog.Catalog, needed *leases.Keeper, log *slog.Logger) (*collect.Collector, error) {
	col, err := collect.New(collect.Options{
		Store: store, Index: cat.Index(), Leases: needed, Grace: c.Grace, Log: log,
		Policy: policy(c),
	})
	if err != nil {
		return nil, err
	}
	svc.UseTrash(col.Restore)
	return col, nil
}

// collectNow is one scheduled collection.
func collectNow(ctx context.Context, col *collect.Collector, log *slog.Logger) error {
	r, err := col.Collect(ctx)
	if err == nil && len(r.Removed)+r.Purged > 0 {
		log.Info("collected", "environments", len(r.Removed), "bytes", r.Bytes, "inodes", r.Inodes, "purged", r.Purged)
	}
	return err
}
