//go:build linux

package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

const (
	// reconcileEvery is the time between two questions to Slurm for all its jobs.
	// slurmctld forgets a job MinJobAge (300 s) after its end; a lease that ends later
	// than it could costs nothing.
	reconcileEvery = 5 * time.Minute
	// inboxEvery is the time between two looks into inbox/.
	inboxEvery = time.Minute
)

// openLeases reads what jobs and names need.
func openLeases(conf *config.Config, store *cache.Store, cat *catalog.Catalog, log *slog.Logger) (*leases.Keeper, error) {
	return leases.Open(leases.Options{
		Store: store, Slurm: queries.Client{Scontrol: conf.Inventory.Scontrol}, Log: log,
		Used: func(ctx context.Context, at time.Time, ids ...string) error { return cat.Index().Used(ctx, at, ids...) },
	})
}
