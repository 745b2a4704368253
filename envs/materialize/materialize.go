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
	// OnMade (may be nil) is called with the plan of an environment that this call made
	// and published.
	OnMade func(*Plan)
	// Provenance is noted in the Meta.
	Provenance json.RawMessage
}

// Materialize makes and publishes an environment's tree, unless it is there. It
// returns the environment's Meta and whether this call did the work. Of callers
// that ask for the same at once, in any process, one works and the others wait.
//
// The Meta is published before the tree: a published tree always has its Meta,
// while a Meta without a tree is that of an unfinished run and means nothing.
// Readers therefore look for the tree first (Published does).
func Materialize(ctx context.Context, store *cache.Store, req Request) (*Meta, bool, error) {
	if err := req.check(store); err != nil {
		return nil, false, err
	}
	meta, err := Published(store, req.ID, req.Platform)
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
	return nil
}

// Published reads the Meta of a published tree; cache.ErrNotFound if there is no
// tree.
func Published(store *cache.Store, id, platform string) (*Meta, error) {
	tree := store.TreePath(platform, id)
	if _, err := os.Lstat(tree); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("environment %s for %s: %w", id, platform, cache.ErrNotFound)
	} else if err != nil {
		return nil, fmt.Errorf("%w: look at %s: %w", cache.ErrStore, tree, err)
	}
	path := store.MetaPath(id, platform)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: environment %s is published but its %s cannot be read: %w; next: remove %s and prepare again", cache.ErrStore, id, path, err, tree)
	}
	var m Meta
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; next: remove %s and prepare again", cache.ErrStore, path, err, tree)
	}
	if m.ID != id || m.Platform != platform {
		return nil, fmt.Errorf("%w: %s describes another environment, %q for %q; next: remove %s and prepare again", cache.ErrStore, path, m.ID, m.Platform, tree)
	}
	if m.Version != MetaVersion {
		return nil, fmt.Errorf("%w: %s is of version %d, this program reads %d; use the program that the store's owner uses", cache.ErrStore, path, m.Version, MetaVersion)
	}
	return &m, nil
}

func materializeLocked(ctx context.Context, store *cache.Store, req Request) (meta *Meta, made bool, err error) {
	// Another process may have been faster while this one waited.
	if meta, err := Published(store, req.ID, req.Platform); err == nil || !errors.Is(err, cache.ErrNotFound) {
		return meta, false, err
	}
	prefix := store.Prefix(req.Platform, req.ID)
	plan, err := NewPlan(prefix, req.Platform, req.Packages, req.Options)
	if err != nil {
		return nil, false, err
	}
	if err := req.canRunScripts(plan); err != nil {
		return nil, false, err
	}
	staging, err := store.TempDir("env")
	if err != nil {
		return nil, false, err
	}
	defer func() {
		// After success the directory has been renamed away.
		if rerr := os.RemoveAll(staging); rerr != nil && err == nil {
			err = fmt.Errorf("%w: remove %s: %w", cache.ErrStore, staging, rerr)
		}
	}()
	workers := req.Workers
	if workers <= 0 {
		workers = max(4, runtime.GOMAXPROCS(0))
	}
	code, err := compile(ctx, store, plan, &req)
	if err != nil {
		return nil, false, err
	}
	tree, err := plan.write(ctx, store, staging, workers, req.Progress)
	if err != nil {
		return nil, false, err
	}
	tree, scripts, err := runScripts(ctx, store, plan, &req, staging, tree)
	if err != nil {
		return nil, false, err
	}
	meta = newMeta(req, plan, tree.result())
	meta.ByteCode, meta.Scripts, meta.AllowedScripts = code, scripts, req.Options.Scripts
	meta.Degraded = slices.ContainsFunc(scripts, func(s ScriptResult) bool { return s.Failed != "" })
	if req.Static != nil {
		if meta.Activation, err = req.Static(staging, prefix); err != nil {
			return nil, false, fmt.Errorf("activation: %w", err)
		}
	}
	if err := saveMeta(store, meta); err != nil {
		return nil, false, err
	}
	if err := store.PublishDir(ctx, staging, store.TreePath(req.Platform, req.ID)); err != nil {
		return nil, false, err
	}
	if req.OnMade != nil {
		req.OnMade(plan)
	}
	return meta, true, nil
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
