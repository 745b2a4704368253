package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// build makes the targets and fills in res.
// save is called once the packages are there, before anything is linked: a lock whose
// packages cannot be had here leaves nothing.
func (r *run) build(ctx context.Context, targets []target, res *Result, save func() error) error {
	need := &shelf{locked: map[string]locked{}, manifests: map[string]*cache.Manifest{}}
	all := map[string]bool{}
	for _, t := range targets {
		meta, err := r.published(t.id, t.subdir)
		if err != nil && !errors.Is(err, cache.ErrNotFound) {
			return err
		}
		e := Environment{Name: t.env, Platform: t.subdir, ID: t.id, Meta: meta, New: meta == nil}
		if meta == nil {
			if e.derived, err = r.derivable(t); err != nil {
				return err
			}
		}
		res.Environments = append(res.Environments, e)
		needs := meta == nil && e.derived == nil
		for _, p := range archives(t.platform) {
			all[p.sha256()] = true
			if needs { // a published environment needs its packages no more
				need.locked[p.sha256()] = p
			}
		}
		if needs && r.byteCode {
			for _, p := range compilerPackages(t.compiler) {
				all[p.sha256()], need.locked[p.sha256()] = true, p
			}
		}
	}
	if err := r.allow(ctx, targets, res.Environments); err != nil {
		return err
	}
	missing, err := r.missing(need)
	if err != nil {
		return err
	}
	var bytes int64
	for _, p := range missing {
		bytes += p.size()
	}
	if err := r.knownClosed(missing); err != nil {
		return err
	}
	for _, e := range res.Environments {
		r.progress.send(Event{Type: EventPlan, Environment: e.Name, Platform: e.Platform, New: e.New})
	}
	if err := r.offline(missing); err != nil {
		return err
	}
	res.PackagesNew, res.PackagesKept = len(missing), len(all)-len(missing)
	res.BytesFetched = bytes
	r.progress.start(res.PackagesKept, len(all), bytes)
	if r.req.DryRun {
		return r.dryRun(targets, need, missing, res)
	}
	if err := r.needLocal(missing); err != nil {
		return err
	}
	release, err := r.slot(ctx, res)
	if err != nil {
		return err
	}
	defer release()
	if res.BytesFetched, err = r.obtain(ctx, need, missing); err != nil {
		return needCredential(err, missing, r.deps.Store.HasArchive)
	}
	if err := save(); err != nil {
		return err
	}
	for i, t := range targets {
		if err := r.link(ctx, t, need.manifests, &res.Environments[i]); err != nil {
			return err
		}
	}
	return nil
}

// slot waits for leave to work, if there is work.
func (r *run) slot(ctx context.Context, res *Result) (release func(), err error) {
	work := slices.ContainsFunc(res.Environments, func(e Environment) bool { return e.Meta == nil })
	if r.deps.Slot == nil || !work {
		return func() {}, nil
	}
	return r.deps.Slot(ctx, func() {
		r.progress.send(Event{Type: EventWait, Text: "other requests are being served; waiting"})
	})
}

// link makes and publishes one target, unless it is there.
func (r *run) link(ctx context.Context, t target, manifests map[string]*cache.Manifest, out *Environment) error {
	if out.Meta != nil {
		r.noteScripts(t.env, t.subdir, out.Meta, false)
		r.noteOverlaps(t.env, t.subdir, out.Meta)
		return r.needsOfOld(ctx, t.env, out.Meta)
	}
	provenance, err := json.Marshal(struct {
		Program string `json:"program"`
	}{r.deps.Program})
	if err != nil {
		return fmt.Errorf("provenance: %w", err)
	}
	var packages []materialize.Package
	if out.derived == nil {
		for _, p := range archives(t.platform) {
			packages = append(packages, p.pkg(manifests[p.sha256()]))
		}
	}
	if err := r.confirmScripts(ctx, t, packages); err != nil {
		return fmt.Errorf("environment %q for %s: %w", t.env, t.subdir, err)
	}
	r.progress.send(Event{Type: EventLink, Environment: t.env, Platform: t.subdir})
	var plan *materialize.Plan
	told := false
	meta, made, err := materialize.Materialize(ctx, r.deps.Store, materialize.Request{
		ID: t.id, Platform: t.subdir, Environment: t.env, LockDigest: r.digest,
		Delivery: r.deps.Delivery, Images: r.deps.Images, Derive: out.derived != nil,
		Packages: packages, Options: options(r.byteCode, t.scripts), Static: activation.FromTree, Provenance: provenance,
		Python: interpreter(t.compiler, manifests), NoPython: t.noCompiler, Sandbox: r.deps.Sandbox,
		Scripts: r.deps.Scripts.Runner, ScriptLimits: r.deps.Scripts.Limits, RefuseFailed: r.deps.Scripts.RefuseFailed,
		OnWait: func() {
			r.progress.send(Event{Type: EventWait, Environment: t.env, Platform: t.subdir,
				Text: fmt.Sprintf("%s for %s is being made by another request; waiting", t.env, t.subdir)})
		},
		BeforePublish: r.announce(),
		OnMade:        func(p *materialize.Plan) { plan = p },
		OnStaged: func(p *materialize.Plan, m *materialize.Meta, root string) error {
			told = true
			return r.needsIn(ctx, t.env, m, root, p, t.platform)
		},
	})
	if err != nil {
		return fmt.Errorf("environment %q for %s: %w", t.env, t.subdir, err)
	}
	if told {
		// It was, while there was a tree.
	} else if plan != nil {
		err = r.needsOf(ctx, t.env, meta, plan, t.platform)
	} else { // others made it, or died before they knew
		err = r.needsOfOld(ctx, t.env, meta)
	}
	if err != nil {
		return err
	}
	out.Meta, out.New = meta, made
	r.noteScripts(t.env, t.subdir, meta, made)
	r.noteOverlaps(t.env, t.subdir, meta)
	if c := meta.ByteCode; c != nil {
		if c.Skipped != "" {
			r.note(fmt.Sprintf("%s for %s has no byte-code: %s", t.env, t.subdir, c.Skipped))
		} else if c.Failed > 0 && made {
			r.note(fmt.Sprintf("%s for %s: %d Python sources do not compile (hpcenv inspect %s names them)", t.env, t.subdir, c.Failed, t.id))
		}
	}
	r.progress.send(Event{Type: EventPublished, Environment: t.env, Platform: t.subdir, New: made})
	return nil
}

// announce is what Deps.BeforePublish says, for this store; nil = nothing.
func (r *run) announce() func(context.Context, *materialize.Meta) error {
	if r.deps.BeforePublish == nil {
		return nil
	}
	return func(ctx context.Context, m *materialize.Meta) error {
		return r.deps.BeforePublish(ctx, r.deps.Store, m)
	}
}
