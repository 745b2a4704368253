package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/daemon/inventory"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
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
	// Delivery is how environments are published; "" = as trees. Images makes images;
	// nil = the host's mksquashfs.
	Delivery image.Delivery
	Images   *image.Tool
	// Python is what is offered to locks that name no Python; nil = nothing.
	Python *pyenv.Offer
	// Scripts says which link scripts are run. Its Runner is the Service's own
	// sandbox unless it is set.
	Scripts prepare.Scripts
	// SiteBuilds makes what the site compiles for environments; nil = nothing.
	SiteBuilds *sitebuild.Builder
}

// Service implements api.Service on a store.
type Service struct {
	opts   Options
	deps   prepare.Deps
	slots  *fair.Limiter
	wanted wanted
	// budgets bound what is made for whom; nil = nothing does.
	budgets *budget.Keeper
	// catalog of what is published; nil = the store itself is asked.
	catalog Catalog
	// gate: prepares share it; who removes from the pool has it alone.
	gate sync.RWMutex
	// project is the directory of the lock that was asked for last. In a user's
	// own process, where it counts, there is one.
	project atomic.Value
}

var _ api.Service = (*Service)(nil)

// New returns a Service.
func New(opts Options) *Service {
	if opts.Runs <= 0 {
		opts.Runs = 4
	}
	s := &Service{opts: opts, slots: fair.New(opts.Runs)}
	s.project.Store("")
	if opts.Images == nil {
		opts.Images = image.NewTool("")
	}
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
		Shared: !opts.Embedded, NoByteCode: opts.NoByteCode, Sandbox: box, Scripts: opts.Scripts,
		Python: opts.Python, Delivery: opts.Delivery, Images: opts.Images,
	}
	if opts.SiteBuilds != nil {
		s.deps.BeforePublish = opts.SiteBuilds.Announce
	}
	return s
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
	s.gate.RLock()
	defer s.gate.RUnlock()
	deps, err := s.depsFor(req)
	if err != nil {
		return nil, err
	}
	deps = s.bounded(deps, req)
	wanted := &prepare.Request{
		Lock: req.Lock, Dir: filepath.Dir(req.LockPath), Environments: req.Environments, All: req.All,
		Platforms: req.Platforms, Activations: req.Activations, Description: req.Description, DryRun: req.DryRun, Offline: req.Offline,
		Brought: req.Brought,
	}
	if !req.Private {
		if deps, err = s.partWith(ctx, deps, wanted, req.Groups); err != nil {
			return nil, err
		}
	}
	res, err := prepare.Run(ctx, deps, wanted, func(e prepare.Event) { report(api.Event(e)) })
	if errors.Is(err, cache.ErrOffline) && !req.Private && !s.opts.Embedded && s.opts.Store.HasPrivate(req.Group) {
		// What a credential fetched for the user's group lies in its own part.
		mine := *req
		mine.Private = true
		return s.Prepare(ctx, &mine, report)
	}
	var need *prepare.NeedLocalError
	var closed *prepare.NeedCredentialError
	switch {
	case errors.As(err, &need):
		return nil, s.wanted.ask(need.Packages, need.Wheels, need.Pythons, nil)
	case errors.As(err, &closed) && !s.opts.Embedded:
		return nil, s.wanted.ask(closed.Packages, closed.Wheels, closed.Pythons, closed.Err)
	case errors.Is(err, cache.ErrFetch):
		return nil, OfLock(&fetchError{err: err, from: s.host()}, req.Lock)
	case err != nil:
		return nil, OfLock(err, req.Lock)
	}
	built, err := s.siteBuilds(ctx, deps.Store, res, req.Offline, report)
	if err != nil {
		return nil, err
	}
	out := s.result(deps.Store, res)
	out.Notes = append(out.Notes, built...)
	if group, ok := deps.Store.Group(); ok {
		out.Private = true
		out.Notes = append(out.Notes, fmt.Sprintf("made of packages that need a credential: only members of group %d can use it (%s)", group, deps.Store.Root()))
	}
	if deps.Fetcher != nil {
		out.Notes = append(out.Notes, deps.Fetcher.Warnings()...)
	}
	// The environments are there, whatever becomes of the index: it is compared with the
	// store from time to time.
	if err := s.noted(context.WithoutCancel(ctx), deps.Store, out); err != nil {
		out.Notes = append(out.Notes, "hpcenv list may not show it for some hours: "+err.Error())
	}
	return out, nil
}

// partWith is deps with the first that has all that a request asks for: the store
// itself, or the part of one of the caller's groups (of a user's process, of one
// that it may read). Where none has, it is deps.
func (s *Service) partWith(ctx context.Context, deps *prepare.Deps, req *prepare.Request, groups []int) (*prepare.Deps, error) {
	asker := &groups
	if s.opts.Embedded {
		asker = nil
	}
	parts, err := s.parts(asker)
	if err != nil || len(parts) < 2 {
		return deps, err
	}
	for _, part := range parts {
		at := *deps
		if at.Store = part; prepare.Ready(ctx, &at, req) {
			return &at, nil
		}
	}
	return deps, nil
}

// depsFor is what a request is worked on with: the part of the store that it is
// for, and a network if it may have one.
func (s *Service) depsFor(req *api.PrepareRequest) (*prepare.Deps, error) {
	s.project.Store(filepath.Dir(req.LockPath))
	closed := s.closed(req.Group)
	if !req.Private && !req.Offline && closed == nil {
		return &s.deps, nil
	}
	deps := s.deps
	if deps.Closed = closed; req.Private {
		deps.Closed = nil
		store, err := s.opts.Store.Private(req.Group)
		if err != nil {
			return nil, err
		}
		deps.Store = store
	}
	if req.Offline {
		deps.ClusterPlatforms = s.knownPlatforms
		if deps.Fetcher != nil {
			deps.Fetcher = deps.Fetcher.Offline()
		}
	}
	return &deps, nil
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
func (s *Service) result(store *cache.Store, res *prepare.Result) *api.PrepareResult {
	out := &api.PrepareResult{
		LockDigest: res.LockDigest, Environments: []api.Environment{}, Skipped: res.Skipped, PackagesKept: res.PackagesKept,
		PackagesNew: res.PackagesNew, BytesFetched: res.BytesFetched, Seconds: res.Seconds, Notes: res.Notes,
	}
	for _, e := range res.Environments {
		env := api.Environment{ID: e.ID, Platform: e.Platform, Prefix: s.opts.Store.Prefix(e.Platform, e.ID)}
		if e.Meta != nil {
			env = environment(described{e.Meta, store})
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
	if o := s.opts.Python; o != nil {
		st.Glibc = o.Glibc
		for _, i := range o.Interpreters {
			st.Interpreters = append(st.Interpreters, told(i))
		}
	}
	if s.opts.Store == nil {
		return st, nil
	}
	format := s.opts.Store.Format()
	st.Store, st.PrefixRoot, st.Serves = s.opts.Store.Root(), format.PrefixRoot, format.Platforms
	var inv *snapshot.Snapshot
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
