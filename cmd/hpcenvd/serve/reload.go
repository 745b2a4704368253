//go:build linux

package serve

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/daemon/collect"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/server"
	"github.com/hpcenv/hpcenv/daemon/watch"
)

// living is the configuration of a running daemon, and what a reload changes.
type living struct {
	// load reads the configuration as the start did.
	load    func() (*config.Config, error)
	level   *slog.LevelVar
	srv     *server.Server
	col     *collect.Collector
	watcher *watch.Watcher
	bound   *budget.Keeper
	log     *slog.Logger

	conf atomic.Pointer[config.Config]
}

// policy of collection.
func policy(c config.GC) collect.Policy {
	return collect.Policy{MaxBytes: c.MaxGB * 1e9, MaxInodes: c.MaxInodes, KeepUsed: c.KeepUsed, UnusedAfter: c.UnusedAfter}
}

// Config returns what holds now, in the API's form.
func (l *living) Config() []api.ConfigValue {
	var out []api.ConfigValue
	for _, v := range l.conf.Load().Values() {
		out = append(out, api.ConfigValue{Key: v.Key, Value: v.Value, Text: v.Text, From: v.From, Where: v.Where, Live: v.Live})
	}
	return out
}

// serve reloads at each SIGHUP until ctx ends.
func (l *living) serve(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			l.reload()
		}
	}
}

// reload takes what may change while the daemon runs, and names the rest. A configuration
// that cannot be used changes nothing.
func (l *living) reload() {
	// systemctl reload waits for READY, by the clock that RELOADING names.
	notify(l.log, sd.SdNotifyReloading+"\nMONOTONIC_USEC="+monotonic())
	defer notify(l.log, sd.SdNotifyReady)
	next, err := l.load()
	var who server.Access
	if err == nil {
		who, err = access(next)
	}
	var bounds budget.Rules
	if err == nil {
		bounds, err = budgets(next)
	}
	if err != nil {
		l.log.Error("the configuration was not reloaded; what held holds", "err", err)
		return
	}
	old := l.conf.Load()
	live, restart := config.Changed(old, next)
	l.level.Set(levels[next.LogLevel])
	l.srv.SetAccess(who)
	l.bound.SetRules(bounds)
	l.watcher.SetEntries(watched(next.Watch))
	l.col.SetPolicy(policy(next.GC), next.GC.Grace)
	// What needs a restart is what it was: what is shown holds.
	l.conf.Store(old.With(next, live))
	l.log.Info("the configuration was reloaded", "changed", strings.Join(live, " "))
	if len(restart) > 0 {
		l.log.Warn("what else changed needs a restart of hpcenvd", "keys", strings.Join(restart, " "))
	}
}

// monotonic is the kernel's clock since the boot, in microseconds.
func monotonic() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "0" // systemd then waits for READY alone
	}
	return formatInt(t.Nano() / int64(time.Microsecond))
}
