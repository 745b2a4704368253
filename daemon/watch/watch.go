package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/project"
)

// Entry is one thing that is watched.
type Entry struct {
	// Path is absolute: a lock, a directory (whose lock it is, and those of the directories
	// in it), or a pattern of such (filepath.Match).
	Path string
	// Environments by name; empty = all of a lock.
	Environments []string
}

// Options of a Watcher.
type Options struct {
	// Prepare does what a user's prepare does, for everybody.
	Prepare func(ctx context.Context, req *api.PrepareRequest) (*api.PrepareResult, error)
	Log     *slog.Logger
	// Settle is how long a lock must not have changed; 0 = 10 s.
	Settle time.Duration
	// Now; nil = time.Now.
	Now func() time.Time
}

// Watcher of locks.
type Watcher struct {
	opts Options
	// scanning lets one Scan run at a time.
	scanning sync.Mutex

	mu      sync.Mutex
	entries []Entry
	locks   map[string]*lock // by path
}

// lock is what is known of one.
type lock struct {
	environments []string
	seen         stamp
	api.WatchedLock
}

// maxLocks bounds how many locks are watched: a pattern may match more than was meant.
const maxLocks = 10_000

// New returns a Watcher of entries.
func New(entries []Entry, opts Options) *Watcher {
	if opts.Settle <= 0 {
		opts.Settle = 10 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Watcher{opts: opts, entries: entries, locks: map[string]*lock{}}
}

// SetEntries changes what is watched, from the next Scan on.
func (w *Watcher) SetEntries(entries []Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = entries
}

// Scan looks at all that is watched and prepares what changed. One lock that cannot be
// prepared keeps none of the others from it; the error names how many failed.
func (w *Watcher) Scan(ctx context.Context) error {
	w.scanning.Lock()
	defer w.scanning.Unlock()
	w.mu.Lock()
	entries := slices.Clone(w.entries)
	w.mu.Unlock()
	found := map[string][]string{}
	var errs []error
	for _, e := range entries {
		paths, err := find(e.Path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, p := range paths {
			if _, twice := found[p]; !twice && len(found) < maxLocks {
				found[p] = e.Environments
			}
		}
	}
	if len(found) == maxLocks {
		errs = append(errs, fmt.Errorf("more than %d locks are watched: the rest is left out; next: narrower patterns in watch.locks", maxLocks))
	}
	w.mu.Lock()
	maps.DeleteFunc(w.locks, func(path string, _ *lock) bool { _, still := found[path]; return !still })
	w.mu.Unlock()
	failed := 0
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !w.look(ctx, path, found[path]) {
			failed++
		}
	}
	if failed > 0 {
		errs = append(errs, fmt.Errorf("%d watched locks are not prepared; hpcenv admin watched tells which, and why", failed))
	}
	return errors.Join(errs...)
}

// look prepares a lock if it changed, and tells whether all is well with it.
func (w *Watcher) look(ctx context.Context, path string, environments []string) bool {
	w.mu.Lock()
	have := w.locks[path]
	w.mu.Unlock()
	data, now, err := read(path, func(s stamp) error {
		switch {
		case have != nil && have.seen == s && slices.Equal(have.environments, environments) && have.State != api.WatchWaiting:
			return errSame
		case w.opts.Now().Sub(s.modified) < w.opts.Settle:
			return errYoung
		}
		return nil
	})
	next := &lock{environments: environments, seen: now, WatchedLock: api.WatchedLock{Path: path}}
	switch {
	case errors.Is(err, errSame):
		// What failed may have been the network's fault: it is tried again each time.
		if have.State == api.WatchPrepared {
			return true
		}
		data, now, err = read(path, func(stamp) error { return nil })
		next.seen = now
	case errors.Is(err, errYoung):
		if have != nil {
			next.WatchedLock = have.WatchedLock
		}
		next.State = api.WatchWaiting
		w.keep(path, next)
		return true
	}
	if err != nil {
		next.State, next.Problem = api.WatchFailed, err.Error()
	} else {
		w.prepare(ctx, data, next)
	}
	if ctx.Err() != nil {
		return true // the daemon stops; the next one begins anew
	}
	if next.State == api.WatchFailed && (have == nil || have.Problem != next.Problem) {
		w.opts.Log.Warn("a watched lock is not prepared", "path", path, "lock", next.Lock, "err", next.Problem)
	}
	w.keep(path, next)
	return next.State == api.WatchPrepared
}

// prepare makes what a lock names.
func (w *Watcher) prepare(ctx context.Context, data []byte, l *lock) {
	sum := sha256.Sum256(data)
	l.Lock, l.At = hex.EncodeToString(sum[:]), w.opts.Now().UTC().Format(time.RFC3339)
	req := &api.PrepareRequest{Lock: data, LockPath: l.Path, Environments: l.environments, All: len(l.environments) == 0, Group: -1}
	if python := project.OpenPython("", data); python != nil {
		names, err := python.Names(l.environments, len(l.environments) == 0)
		if err != nil {
			l.State, l.Problem = api.WatchFailed, err.Error()
			return
		}
		req.Environments, req.All = names, false
	}
	res, err := w.opts.Prepare(ctx, req)
	if err != nil {
		l.State, l.Problem = api.WatchFailed, err.Error()
		return
	}
	l.State, l.Environments = api.WatchPrepared, len(res.Environments)
	made := 0
	for i := range res.Environments {
		if res.Environments[i].New {
			made++
		}
	}
	if made > 0 {
		w.opts.Log.Info("a watched lock was prepared", "path", l.Path, "lock", l.Lock, "new", made)
	}
}

func (w *Watcher) keep(path string, l *lock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locks[path] = l
}

// Status of all watched locks, those with a problem first.
func (w *Watcher) Status() []api.WatchedLock {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]api.WatchedLock, 0, len(w.locks))
	for _, l := range w.locks {
		out = append(out, l.WatchedLock)
	}
	order := []string{api.WatchFailed, api.WatchWaiting, api.WatchPrepared}
	slices.SortFunc(out, func(a, b api.WatchedLock) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), strings.Compare(a.Path, b.Path))
	})
	return out
}
