package prepare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// packagesNamed is how many packages of a requirement of the lock are kept with the
// needs: as many as a message names.
const packagesNamed = 3

// needsOfOld finds out what a published environment asks of a node, if that is not
// known: an earlier release made it, or who did was interrupted.
func (r *run) needsOfOld(ctx context.Context, env string, meta *materialize.Meta) error {
	head, err := needs.LoadHead(r.deps.Store.NeedsPath(meta.ID, meta.Platform))
	if err == nil && head.Current() {
		return nil
	}
	var plan *materialize.Plan
	var platform *lockfile.Platform
	if d, err := describeAgain(r.deps.Store, meta); err == nil {
		platform = d.platform
		if plan, err = d.plan(r.deps.Store, meta); err != nil {
			plan = nil // its packages are not there any more: the tree tells
		}
	}
	return r.needsOf(ctx, env, meta, plan, platform)
}

// needsOf finds out what a published environment asks of a node, and keeps it. plan and
// platform may be nil: then it is not known of which packages its files are, and what
// the lock says. That something cannot be read is a note; only the store's errors
// are.
func (r *run) needsOf(ctx context.Context, env string, meta *materialize.Meta, plan *materialize.Plan, platform *lockfile.Platform) error {
	store := r.deps.Store
	if meta.Delivered != image.Image {
		return r.needsIn(ctx, env, meta, store.TreePath(meta.Platform, meta.ID), plan, platform)
	}
	// Whoever made the image did not come so far, or was an older release.
	return materialize.WithUnpacked(ctx, store, meta, func(root string) error {
		return r.needsIn(ctx, env, meta, root, plan, platform)
	})
}

// needsIn is needsOf for an environment whose tree lies at root.
func (r *run) needsIn(ctx context.Context, env string, meta *materialize.Meta, root string, plan *materialize.Plan, platform *lockfile.Platform) error {
	store := r.deps.Store
	in := &needs.Input{Store: store, Root: root, Prefix: meta.Prefix, Subdir: meta.Platform}
	if plan != nil {
		in.Files, in.Touched = filesOf(plan), plan.RunsScripts()
	}
	if platform != nil {
		for _, q := range requirement.Of(platform, nil) {
			in.Locked = append(in.Locked, q.Short(packagesNamed))
		}
		in.Stack = stack.Of(platform, nil)
	}
	n, err := needs.Of(ctx, in)
	var data []byte
	if err == nil {
		data, err = n.Encode()
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, cache.ErrStore):
		return fmt.Errorf("environment %q for %s: %w", env, meta.Platform, err)
	case err != nil:
		r.note(fmt.Sprintf("what the files of %s for %s ask of a node could not be found out, so that nodes that cannot run it are not named before a launch: %v", env, meta.Platform, err))
		return nil
	}
	return store.SaveFile(store.NeedsPath(meta.ID, meta.Platform), 0o444, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// filesOf are those of a plan's files and links that can have a part in what it asks of
// a node (needs.Matters), with the packages that have them: a tenth of all.
func filesOf(plan *materialize.Plan) (files []needs.File) {
	packages := make([]*needs.Package, len(plan.Packages))
	for i, p := range plan.Packages {
		packages[i] = needs.NewPackage(named(p), p.Manifest)
	}
	for i := range plan.Ops {
		op := &plan.Ops[i]
		f := needs.File{Path: op.Path}
		if op.Owner != materialize.Own {
			f.Package = packages[op.Owner]
		}
		switch op.Kind {
		case materialize.KindDir:
			continue
		case materialize.KindFile, materialize.KindPatch:
			f.Content, f.Changed = op.SHA256, op.Kind == materialize.KindPatch
		case materialize.KindSymlink:
			f.Link = op.Target
		}
		if f.Matters() {
			files = append(files, f)
		}
	}
	return files
}

// named is a package as "name version".
func named(p materialize.Package) string {
	switch {
	case p.Wheel != nil:
		return p.Wheel.Name + " " + p.Wheel.Version
	case p.Python != nil:
		return "python " + p.Python.Version
	}
	return p.Lock.Name + " " + p.Lock.Version
}
