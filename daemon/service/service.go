package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/internal/version"
)

// Version of this program.
func Version() string { return version.String() }

// Options of a Service.
type Options struct {
	// Store to work on.
	Store *cache.Store
	// Fetcher downloads; nil = the Service can only tell what is there.
	Fetcher *cache.Fetcher
	// Inventory of the cluster; nil = none.
	Inventory *inventory.Keeper
	// Embedded: no daemon, the caller is the user: local archives are opened
	// with the user's own rights.
	Embedded bool
	// Runs is how many prepares work at once; 0 = 4. Others wait; those of one
	// client (fair.With) never take all.
	Runs int
	// Parallel downloads of one prepare; 0 = 8.
	Parallel int
	// NoByteCode: environments are made without compiled Python files.
	NoByteCode bool
	// Scripts says which link scripts are run. Its Runner is the Service's own
	// sandbox unless it is set.
	Scripts prepare.Scripts
}

// Service implements api.Service on a store.
type Service struct {
	opts   Options
	deps   prepare.Deps
	slots  *fair.Limiter
	wanted wanted
}

var _ api.Service = (*Service)(nil)

// New returns a Service.
func New(opts Options) *Service {
	if opts.Runs <= 0 {
		opts.Runs = 4
	}
	s := &Service{opts: opts, slots: fair.New(opts.Runs)}
	box := bytecode.NewSandbox()
	if opts.Scripts.Runner == nil {
		opts.Scripts.Runner = linkscript.NewLocal(box.Box)
	}
	if opts.Scripts.Jobs != nil {
		opts.Scripts.Runner = linkscript.ByPlatform{Here: opts.Scripts.Runner, Jobs: opts.Scripts.Jobs}
	}
	s.deps = prepare.Deps{
		Store: opts.Store, Fetcher: opts.Fetcher, ClusterPlatforms: s.clusterPlatforms,
		OpenLocal: opts.Embedded, Parallel: opts.Parallel, Program: "hpcenv " + Version(), Slot: s.slots.Acquire,
		NoByteCode: opts.NoByteCode, Sandbox: box, Scripts: opts.Scripts,
	}
	return s
}

// OpenOwn returns the Service of a user's own store at root, which is made if
// it is not there. scripts are the packages whose link scripts the user wants run.
func OpenOwn(root string, scripts ...prepare.ScriptRule) (*Service, error) {
	return openOwn(root, cache.Create, false, scripts)
}

// OpenOwnDry is OpenOwn for dry runs: nothing is made or written, and a store
// that is not there is taken for the empty one that OpenOwn would make.
func OpenOwnDry(root string, scripts ...prepare.ScriptRule) (*Service, error) {
	return openOwn(root, cache.Absent, true, scripts)
}

func openOwn(root string, create func(string, cache.Format) (*cache.Store, error), dry bool, scripts []prepare.ScriptRule) (*Service, error) {
	store, err := cache.Open(root)
	if errors.Is(err, os.ErrNotExist) {
		format := cache.Format{
			Version: cache.FormatVersion, Platforms: []string{"linux-64", "linux-aarch64"}, OwnerUID: os.Geteuid(),
		}
		// Its trees are the prefixes: said before anything is made.
		for _, platform := range format.Platforms {
			if err := cache.PrefixLimit(filepath.Join(root, "trees", platform, strings.Repeat("0", 32))); err != nil {
				return nil, fmt.Errorf("%w\nnext: name a shorter store, e.g. HPCENV_STORE=/scratch/$USER/hpcenv", err)
			}
		}
		store, err = create(root, format)
	}
	if err != nil {
		return nil, err
	}
	if owner := store.Format().OwnerUID; owner != os.Geteuid() && os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: %s belongs to uid %d, and only that account writes to it\nnext: prepare through its daemon (--socket), or in a store of your own (HPCENV_STORE)",
			cache.ErrStore, root, owner)
	}
	return New(Options{
		Store:     store,
		Fetcher:   cache.NewFetcher(cache.FetchOptions{AllowHost: cache.AllowAny, AllowFile: true, UserAgent: "hpcenv/" + Version()}),
		Inventory: &inventory.Keeper{Store: store, HostOnly: true, ReadOnly: dry},
		Embedded:  true,
		Scripts:   prepare.Scripts{Allow: scripts},
	}), nil
}

// OpenReadOnly returns a Service that only tells what is in the store at root.
// absentIsEmpty: a store that was never made has nothing, and that is no error.
func OpenReadOnly(root string, absentIsEmpty bool) (*Service, error) {
	store, err := cache.Open(root)
	if errors.Is(err, os.ErrNotExist) && absentIsEmpty {
		if _, serr := os.Stat(root); errors.Is(serr, os.ErrNotExist) {
			return New(Options{Embedded: true}), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return New(Options{Store: store, Embedded: true}), nil
}

// clusterPlatforms is prepare's question.
func (s *Service) clusterPlatforms(ctx context.Context) (platforms, notes []string, err error) {
	var inv *inventory.Inventory
	var note string
	if s.opts.Inventory != nil {
		inv, note, err = s.opts.Inventory.Current(ctx)
	} else {
		inv, _, err = inventory.Read(s.opts.Store)
	}
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	return slices.Sorted(maps.Keys(inv.Platforms())), notes, nil
}

// Prepare implements api.Service. Cancelling ctx ends the work. In a daemon,
// archives that lie in the user's files end it with an *api.NeedError.
func (s *Service) Prepare(ctx context.Context, req *api.PrepareRequest, report func(api.Event)) (*api.PrepareResult, error) {
	// What is there can be told by whoever may read it.
	if (s.opts.Fetcher == nil || s.opts.Inventory == nil) && (!req.DryRun || s.opts.Store == nil) {
		return nil, fmt.Errorf("%w: it was opened for reading only", cache.ErrStore)
	}
	if report == nil {
		report = func(api.Event) {}
	}
	res, err := prepare.Run(ctx, &s.deps, &prepare.Request{
		Lock: req.Lock, Dir: filepath.Dir(req.LockPath), Environments: req.Environments, All: req.All,
		Platforms: req.Platforms, Activations: req.Activations, DryRun: req.DryRun,
		Brought: req.Brought,
	}, func(e prepare.Event) { report(api.Event(e)) })
	var need *prepare.NeedLocalError
	switch {
	case errors.As(err, &need):
		return nil, s.wanted.ask(need)
	case errors.Is(err, cache.ErrFetch):
		return nil, &fetchError{err: err, from: s.host()}
	case err != nil:
		return nil, err
	}
	return s.result(res), nil
}

// host that fetches, for messages.
func (s *Service) host() string {
	if s.opts.Embedded {
		return "this host"
	}
	name, err := os.Hostname()
	if err != nil {
		return "the daemon's host"
	}
	return "the daemon's host " + name
}

// result is a prepare's result in the API's form.
func (s *Service) result(res *prepare.Result) *api.PrepareResult {
	out := &api.PrepareResult{
		LockDigest: res.LockDigest, Environments: []api.Environment{}, Skipped: res.Skipped, PackagesKept: res.PackagesKept,
		PackagesNew: res.PackagesNew, BytesFetched: res.BytesFetched, Seconds: res.Seconds, Notes: res.Notes,
	}
	for _, e := range res.Environments {
		env := api.Environment{ID: e.ID, Platform: e.Platform, Prefix: s.opts.Store.Prefix(e.Platform, e.ID)}
		if e.Meta != nil {
			env = s.environment(e.Meta)
		}
		// Another lock may have made it under another name; here it is called so.
		env.Name, env.LockDigest, env.New = e.Name, res.LockDigest, e.New
		out.Environments = append(out.Environments, env)
	}
	if res.DryRun != nil {
		out.DryRun = dryRun(res.DryRun)
	}
	return out
}

// Status implements api.Service.
func (s *Service) Status(ctx context.Context) (*api.Status, error) {
	st := &api.Status{Version: Version(), Embedded: s.opts.Embedded, Platforms: map[string]int{}}
	if s.opts.Store == nil {
		return st, nil
	}
	st.Store, st.PrefixRoot = s.opts.Store.Root(), s.opts.Store.Format().PrefixRoot
	var inv *inventory.Inventory
	var err error
	if s.opts.Inventory != nil {
		inv, _, err = s.opts.Inventory.Current(ctx)
	} else {
		inv, _, err = inventory.Read(s.opts.Store)
	}
	if errors.Is(err, cache.ErrNotFound) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	st.Platforms = inv.Platforms()
	return st, nil
}
