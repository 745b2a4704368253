package materialize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// MetaVersion is the version of Meta's own form.
const MetaVersion = 1

// Request asks for one environment on one platform.
type Request struct {
	// ID as ID computes it; Platform is a conda subdir of the store.
	ID, Platform string
	// Environment and LockDigest are noted in the Meta.
	Environment, LockDigest string
	// Packages of the environment for the platform, all in the store.
	Packages []Package
	Options  Options
	// Python compiles byte-code, in Sandbox; used with Options.ByteCode only. nil
	// = there is none that this host can run, and NoPython says why ("" = the
	// environment has no python, which needs no reason).
	Python   *bytecode.Interpreter
	Sandbox  *bytecode.Sandbox
	NoPython string
	// Scripts runs the link scripts of the packages that Options.Scripts names; used
	// for those only. RefuseFailed: an environment of which one fails is not made.
	Scripts      linkscript.Runner
	ScriptLimits linkscript.Limits
	RefuseFailed bool
	// Delivery is how it is published ("" = tree), and Images makes images;
	// used for those only.
	Delivery image.Delivery
	Images   *image.Tool
	// Derive: Packages are not given, since all that is wanted can be made of what is
	// published; it is an error of class cache.ErrNotFound if that is gone.
	Derive bool
	// Workers is how many goroutines write; 0 = one per CPU, at least 4, since
	// shared storage answers slowly and in parallel.
	Workers int
	// Static computes the static part of the activation from the tree at root
	// that will be at prefix. nil = none.
	Static func(root, prefix string) (activation.Static, error)
	// Progress, OnWait: may be nil. Progress is as Plan.Execute has it; OnWait is
	// called once if another process is at the same work.
	Progress func(done, total int)
	OnWait   func()
	// BeforePublish (may be nil) is called with the Meta of an environment that is made,
	// before anybody can see it; its error ends the work.
	BeforePublish func(context.Context, *Meta) error
	// OnMade (may be nil) is called with the plan of an environment that this call made
	// and published.
	OnMade func(*Plan)
	// OnStaged (may be nil) is called, before an environment is published as an image
	// alone, while its tree is still to be read at root. Its error ends the making.
	OnStaged func(p *Plan, m *Meta, root string) error
	// Provenance is noted in the Meta.
	Provenance json.RawMessage
}

// Materialize makes and publishes an environment in the form of req.Delivery, unless
// it is there; what is there in another form serves to make it, as far as it can
// (see derive.go). It returns the environment's Meta and whether this call did the
// work. Of callers that ask for the same at once, in any process, one works and the
// others wait.
//
// The Meta is published before tree and image: what is published always has its Meta,
// while a Meta without either is that of an unfinished run and means nothing.
// Readers therefore look for tree and image first (Published does).
func Materialize(ctx context.Context, store *cache.Store, req Request) (*Meta, bool, error) {
	if err := req.check(store); err != nil {
		return nil, false, err
	}
	meta, err := PublishedAs(store, req.ID, req.Platform, req.Delivery)
	if err == nil || !errors.Is(err, cache.ErrNotFound) {
		return meta, false, err
	}
	release, err := store.Lock(ctx, "env-"+req.ID+"-"+req.Platform, req.OnWait)
	if err != nil {
		return nil, false, err
	}
	meta, made, err := materializeLocked(ctx, store, req)
	if err = errors.Join(err, release()); err != nil {
		return nil, false, fmt.Errorf("environment %s for %s: %w", req.ID, req.Platform, err)
	}
	return meta, made, nil
}

// idPattern is an environment id.
var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// check refuses what would become a wrong path of the store.
func (req *Request) check(store *cache.Store) error {
	if !idPattern().MatchString(req.ID) {
		return fmt.Errorf("environment id %q is not 32 hex digits: %w", req.ID, ErrUnlinkable)
	}
	if platforms := store.Format().Platforms; !slices.Contains(platforms, req.Platform) {
		return fmt.Errorf("platform %q is not one of this store's (%v): %w", req.Platform, platforms, ErrUnlinkable)
	}
	if req.Delivery.WantsTree() && store.BuildsApart() {
		return fmt.Errorf("%w: environments are built in %s, so that only images can be published in %s, no trees; next: choose the delivery image", cache.ErrStore, store.Builds(), store.Root())
	}
	return nil
}

func materializeLocked(ctx context.Context, store *cache.Store, req Request) (meta *Meta, made bool, err error) {
	// Another process may have been faster while this one waited.
	have, err := Published(store, req.ID, req.Platform)
	switch {
	case err == nil && have.delivers(req.Delivery):
		return have, false, nil
	case err == nil && have.Delivered.WantsTree():
		meta, err = deriveImage(ctx, store, &req, have)
		return meta, err == nil, err
	case err == nil, errors.Is(err, cache.ErrNotFound):
	default:
		return nil, false, err
	}
	if req.Derive && have != nil {
		meta, err = deriveTree(ctx, store, &req, have)
		return meta, err == nil, err
	}
	if req.Derive {
		return nil, false, fmt.Errorf("what it was to be made of, its tree or its image, is gone: %w; next: prepare again", cache.ErrNotFound)
	}
	staging, err := store.TempDir("env")
	if err != nil {
		return nil, false, err
	}
	defer func() {
		// A published tree has been renamed away.
		if rerr := os.RemoveAll(staging); rerr != nil && err == nil {
			err = fmt.Errorf("%w: remove %s: %w", cache.ErrStore, staging, rerr)
		}
	}()
	meta, plan, err := stage(ctx, store, &req, staging)
	if err != nil {
		return nil, false, err
	}
	if req.OnStaged != nil && !req.Delivery.WantsTree() {
		if err := req.OnStaged(plan, meta, staging); err != nil {
			return nil, false, err
		}
	}
	if req.BeforePublish != nil {
		if err := req.BeforePublish(ctx, meta); err != nil {
			return nil, false, err
		}
	}
	if err := publish(ctx, store, &req, have, meta, staging); err != nil {
		return nil, false, err
	}
	if req.OnMade != nil {
		req.OnMade(plan)
	}
	return meta, true, nil
}

// stage makes the tree in staging, an empty directory, and returns its description
// and its plan.
func stage(ctx context.Context, store *cache.Store, req *Request, staging string) (*Meta, *Plan, error) {
	prefix := store.Prefix(req.Platform, req.ID)
	plan, err := NewPlan(prefix, req.Platform, req.Packages, req.Options)
	if err != nil {
		return nil, nil, err
	}
	if err := req.canRunScripts(plan); err != nil {
		return nil, nil, err
	}
	workers := req.Workers
	if workers <= 0 {
		workers = max(4, runtime.GOMAXPROCS(0))
	}
	code, err := compile(ctx, store, plan, req)
	if err != nil {
		return nil, nil, err
	}
	if err := req.hasRoom(ctx, store, plan); err != nil {
		return nil, nil, err
	}
	tree, err := plan.write(ctx, store, staging, workers, req.Progress)
	if err != nil {
		return nil, nil, err
	}
	tree, scripts, err := runScripts(ctx, store, plan, req, staging, tree)
	if err != nil {
		return nil, nil, err
	}
	meta := newMeta(*req, plan, tree.result())
	meta.ByteCode, meta.Scripts, meta.AllowedScripts = code, scripts, req.Options.Scripts
	meta.Degraded = slices.ContainsFunc(scripts, func(s ScriptResult) bool { return s.Failed != "" })
	if !req.Delivery.WantsTree() {
		meta.Cost = nil // what is staged does not stay
	}
	if req.Static != nil {
		if meta.Activation, err = req.Static(staging, prefix); err != nil {
			return nil, nil, fmt.Errorf("activation: %w", err)
		}
	}
	return meta, plan, nil
}

// newMeta fills in what is known of the environment, its activation excepted.
func newMeta(req Request, plan *Plan, res *Result) *Meta {
	m := &Meta{
		Version: MetaVersion, ID: req.ID, Platform: req.Platform, Environment: req.Environment, LockDigest: req.LockDigest,
		Prefix: plan.Prefix, TreeDigest: res.TreeDigest, Files: res.Files, Dirs: res.Dirs, Links: res.Links,
		Bytes: res.Bytes, BytesNew: res.BytesNew, Cost: &res.Cost, Conflicts: plan.Conflicts, SkippedScripts: plan.SkippedScripts,
		Notes: plan.Notes, Provenance: req.Provenance, Packages: MetaPackages(plan),
	}
	return m
}

// MetaPackages are a plan's packages as its Meta names them.
func MetaPackages(plan *Plan) []MetaPackage {
	out := make([]MetaPackage, 0, len(plan.Packages))
	for _, p := range plan.Packages {
		out = append(out, metaPackage(p))
	}
	slices.SortStableFunc(out, func(a, b MetaPackage) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

func saveMeta(store *cache.Store, m *Meta) error {
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("meta of %s: %w", m.ID, err)
	}
	path := store.MetaPath(m.ID, m.Platform)
	if err := store.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return store.SaveFile(path, 0o444, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}
