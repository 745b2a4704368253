//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/go-co-op/gocron/v2"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// cleanEvery is the time between two clean-ups of unfinished work.
const cleanEvery = time.Hour

// publishEvery is how long what a node told may wait for what others tell: after a
// boot of the whole cluster all tell at once.
const publishEvery = 2 * time.Second

// schedule starts what happens by the clock; stop ends it.
func schedule(now *living, conf *config.Config, store *cache.Store, keeper *inventory.Keeper, cat *catalog.Catalog, needed *leases.Keeper, col *collect.Collector, log *slog.Logger) (stop func() error, err error) {
	opts := []gocron.SchedulerOption{gocron.WithStopTimeout(10 * time.Second)}
	if log.Enabled(context.Background(), slog.LevelDebug) {
		opts = append(opts, gocron.WithLogger(log))
	}
	s, err := gocron.NewScheduler(opts...)
	if err != nil {
		return nil, fmt.Errorf("schedules: %w", err)
	}
	later := func(name string, every time.Duration, do func(context.Context), opts ...gocron.JobOption) {
		_, jerr := s.NewJob(gocron.DurationJob(every), gocron.NewTask(do), append(opts, gocron.WithName(name),
			// One that still runs is not started a second time.
			gocron.WithSingletonMode(gocron.LimitModeReschedule))...)
		err = errors.Join(err, jerr)
	}
	add := func(name string, every time.Duration, do func(context.Context)) {
		later(name, every, do, gocron.WithStartAt(gocron.WithStartImmediately()))
	}
	add("inventory", conf.Inventory.Refresh, func(ctx context.Context) {
		inv, err := keeper.Refresh(ctx)
		switch {
		case errors.Is(err, queries.ErrNoSlurm):
			log.Debug("inventory", "err", err)
		case err != nil:
			log.Warn("inventory was not refreshed", "err", err)
		default:
			log.Debug("inventory", "nodes", inv.Count(), "kinds", len(inv.Kinds), "platforms", inv.Platforms())
		}
	})
	if conf.Nodes.Listen != "" {
		add("facts", publishEvery, func(ctx context.Context) {
			if err := keeper.Publish(ctx); err != nil {
				log.Warn("what nodes told was not published", "err", err)
			}
		})
	}
	add("index", compareEvery, func(ctx context.Context) { compare(ctx, cat, log) })
	add("leases", reconcileEvery, func(ctx context.Context) {
		switch err := needed.Reconcile(ctx); {
		case errors.Is(err, queries.ErrNoSlurm):
			log.Debug("leases", "err", err)
		case err != nil:
			log.Warn("what jobs need is not known; nothing is collected", "err", err)
		}
	})
	add("inbox", inboxEvery, func(ctx context.Context) {
		if err := needed.TakeInbox(ctx); err != nil {
			log.Warn("inbox/ was not taken in", "err", err)
		}
	})
	if conf.GC.Every > 0 {
		// Not at the start: the index is compared with the store first.
		later("collection", conf.GC.Every, func(ctx context.Context) { collectNow(ctx, col, log) })
	}
	add("clean", cleanEvery, func(context.Context) {
		n, err := store.CleanTemp(now.conf.Load().Tmp.Keep)
		if err != nil {
			log.Warn("unfinished work was not removed", "err", err)
		} else if n > 0 {
			log.Info("unfinished work removed", "entries", n, "older_than", now.conf.Load().Tmp.Keep)
		}
	})
	if every, werr := sd.SdWatchdogEnabled(false); werr == nil && every > 0 {
		add("watchdog", every/3, func(context.Context) { notify(log, sd.SdNotifyWatchdog) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("schedules: %w", err), s.Shutdown())
	}
	s.Start()
	return s.Shutdown, nil
}
