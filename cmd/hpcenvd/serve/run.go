//go:build linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/cosnicolaou/pbzip2"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/daemon/server"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// stopWithin bounds a stop; systemd kills after 90 s.
const stopWithin = 30 * time.Second

// run serves until ctx ends.
func run(ctx context.Context, now *living, conf *config.Config) (err error) {
	log := now.log
	now.conf.Store(conf)
	who, err := access(conf)
	if err != nil {
		return err
	}
	bounds, err := budgets(conf)
	if err != nil {
		return err
	}
	fetch, err := fetcher(conf)
	if err != nil {
		return err
	}
	store, err := cache.Create(conf.Store, cache.Format{
		Version: cache.FormatVersion, PrefixRoot: conf.PrefixRoot, Platforms: conf.Platforms, Clusters: conf.Clusters, OwnerUID: os.Geteuid(),
	})
	if err != nil {
		return err
	}
	served := make(chan error, 4)
	held, err := hold(ctx, store, log, served)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	delivery, err := image.Parse(conf.Delivery)
	if err != nil {
		return fmt.Errorf("%w: delivery: %w", config.ErrConfig, err)
	}
	if delivery == image.Image {
		// Trees are linked from the pool: it lies with them.
		if err := store.UseLocal(conf.BuildDir); err != nil {
			return fmt.Errorf("build_dir: %w", err)
		}
	}
	store.UseBzip2(func(ctx context.Context, in io.Reader) io.Reader { return pbzip2.NewReader(ctx, in) })
	rules, err := rules(conf.Selection)
	if err != nil {
		return err
	}
	keeper := &inventory.Keeper{Rules: rules, Enforced: conf.Selection.Enforced, Store: store, Slurm: queries.Client{Scontrol: conf.Inventory.Scontrol}}
	svc := service.New(service.Options{
		Store: store, Inventory: keeper, Parallel: conf.Fetch.Parallel, NoByteCode: !conf.ByteCode, Delivery: delivery,
		Scripts: scripts(conf.Scripts), Python: conf.Offer(),
		Fetcher: fetch, SiteBuilds: siteBuilds(conf, fetch, delivery),
	})
	cat, err := openCatalog(ctx, conf, svc, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cat.Close()) }()
	bound := budget.NewKeeper(cat, bounds)
	svc.UseBudgets(bound)
	needed, err := openLeases(conf, store, cat, log)
	if err != nil {
		return err
	}
	col, err := openCollector(conf.GC, store, svc, cat, needed, log)
	if err != nil {
		return err
	}
	watcher := newWatcher(conf.Watch, svc, log)
	sched, err := schedule(&parts{watcher: watcher, now: now, store: store, keeper: keeper, cat: cat, needed: needed, col: col, log: log})
	if err != nil {
		return err
	}
	state := &health{since: time.Now(), store: store, cat: cat, need: needed, col: col, sched: sched}
	srv := server.New(server.Backends{Status: state, Watched: watcher, Work: svc, Nodes: keeper, Index: cat, Leases: needed, GC: col, Config: now, Mine: cat, Budgets: bound}, server.Options{Log: log, Classify: service.Classify, Access: who})
	now.watcher, now.srv, now.col, now.bound, state.srv = watcher, srv, col, bound, srv
	listener, err := listen(conf)
	if err != nil {
		return err
	}
	go func() { served <- about("socket "+conf.Socket, srv.Serve(listener)) }()
	remote, err := serveTCP(conf.Nodes, srv, log, served)
	if err != nil {
		return errors.Join(err, srv.Close(ctx))
	}
	figures, err := serveMetrics(conf.Metrics, state, log, served)
	if err != nil {
		return errors.Join(err, remote(ctx), srv.Close(ctx))
	}
	sched.Start()
	log.Info("hpcenvd serves", "version", service.Version(), "store", conf.Store, "prefix_root", conf.PrefixRoot, "socket", conf.Socket)
	notify(log, sd.SdNotifyReady)
	reloads, noMore := context.WithCancel(ctx)
	defer noMore()
	go now.serve(reloads)
	select {
	case err = <-served:
	case <-ctx.Done():
		log.Info("hpcenvd stops")
	}
	notify(log, sd.SdNotifyStopping)
	end, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return errors.Join(err, sched.Stop(), figures(end), remote(end), srv.Close(end))
}

// about puts before an error what it is about.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// scripts is what the configuration says of link scripts.
func scripts(c config.Scripts) prepare.Scripts {
	s := prepare.Scripts{RefuseFailed: c.OnFailure == "refuse", Limits: linkscript.Limits{
		Time: c.Time, Memory: c.MemoryMB << 20, Processes: c.Processes, Bytes: c.DiskMB << 20, Inodes: c.Files,
	}}
	if len(c.JobPlatforms) > 0 {
		s.Jobs = &linkscript.Spool{Dir: c.Spool, Platforms: c.JobPlatforms, Wait: c.Wait}
	}
	for _, r := range c.Allow {
		s.Allow = append(s.Allow, prepare.ScriptRule(r))
	}
	return s
}

// siteBuilds is what the configuration says of builds on nodes. Where it says nothing,
// what was built under an earlier one is taken out of use.
func siteBuilds(conf *config.Config, fetch *cache.Fetcher, delivery image.Delivery) *sitebuild.Builder {
	b := &sitebuild.Builder{Fetcher: fetch, Delivery: delivery, Runner: &linkscript.Spool{Dir: conf.Scripts.Spool, Platforms: conf.Platforms, Wait: conf.Scripts.Wait}}
	for i := range conf.SiteBuilds {
		b.Declared = append(b.Declared, &conf.SiteBuilds[i])
	}
	return b
}

// notify tells systemd, where there is one.
func notify(log *slog.Logger, state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		log.Warn("systemd was not told", "state", state, "err", err)
	}
}
