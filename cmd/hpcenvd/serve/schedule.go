//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/daemon/schedules"
	"github.com/hpcenv/hpcenv/daemon/watch"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// cleanEvery is the time between two clean-ups of unfinished work.
const cleanEvery = time.Hour

// publishEvery is how long what a node told may wait for what others tell: after a
// boot of the whole cluster all tell at once.
const publishEvery = 2 * time.Second

// parts are what schedules work on.
type parts struct {
	now    *living
	store  *cache.Store
	keeper *inventory.Keeper
	cat    *catalog.Catalog
	needed *leases.Keeper
	col    *collect.Collector
	// watcher of locks.
	watcher *watch.Watcher
	log     *slog.Logger
}

// schedule sets up what happens by the clock; it begins with Start.
func schedule(p *parts) (*schedules.Scheduler, error) {
	s, err := schedules.New(p.log)
	if err != nil {
		return nil, err
	}
	conf := p.now.conf.Load()
	add := func(name string, every time.Duration, do func(context.Context) error) {
		err = errors.Join(err, s.Add(schedules.Schedule{Name: name, Every: every, Now: true, Do: do}))
	}
	add("inventory", conf.Inventory.Refresh, func(ctx context.Context) error {
		inv, err := p.keeper.Refresh(ctx)
		if err != nil {
			return withoutSlurm(err)
		}
		p.log.Debug("inventory", "nodes", inv.Count(), "kinds", len(inv.Kinds), "platforms", inv.Platforms())
		return nil
	})
	if conf.Nodes.Listen != "" {
		add("facts", publishEvery, p.keeper.Publish)
	}
	add("index", compareEvery, func(ctx context.Context) error { return compare(ctx, p.cat, p.log) })
	add("leases", reconcileEvery, func(ctx context.Context) error { return withoutSlurm(p.needed.Reconcile(ctx)) })
	add("inbox", inboxEvery, p.needed.TakeInbox)
	if conf.GC.Every > 0 {
		// Not at the start: the index is compared with the store first.
		err = errors.Join(err, s.Add(schedules.Schedule{Name: "collection", Every: conf.GC.Every, Do: func(ctx context.Context) error {
			return withoutSlurm(collectNow(ctx, p.col, p.log))
		}}))
		err = errors.Join(err, s.Add(schedules.Schedule{Name: "pool", Every: conf.GC.Every, Do: func(ctx context.Context) error {
			return sweep(ctx, p.col, p.log)
		}}))
	}
	add("watch", conf.Watch.Every, p.watcher.Scan)
	add("clean", cleanEvery, func(context.Context) error {
		keep := p.now.conf.Load().Tmp.Keep
		n, err := p.store.CleanTemp(keep)
		if n > 0 {
			p.log.Info("unfinished work removed", "entries", n, "older_than", keep)
		}
		return err
	})
	if every, werr := sd.SdWatchdogEnabled(false); werr == nil && every > 0 {
		add("watchdog", every/3, func(ctx context.Context) error {
			if err := answers(ctx, conf.Socket); err != nil {
				return err
			}
			notify(p.log, sd.SdNotifyWatchdog)
			return nil
		})
	}
	return s, err
}

// withoutSlurm: a host without Slurm has nothing to be asked of it.
func withoutSlurm(err error) error {
	if errors.Is(err, queries.ErrNoSlurm) {
		return fmt.Errorf("%w: %w", schedules.ErrNothing, err)
	}
	return err
}

// answers asks the daemon as a client would, for what needs neither store nor Slurm: where
// those hang, a restart would not help.
func answers(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := api.DialContext(ctx, socket)
	if err != nil {
		return err
	}
	return client.Ping(ctx)
}
