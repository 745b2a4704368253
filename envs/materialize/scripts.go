package materialize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// plannedScript is a link script that is run, and whose it is.
type plannedScript struct {
	owner int
	linkscript.Script
}

// planScripts sorts the scripts of package i into those that are run and those that
// are not. A pre-unlink script has nothing to do: a prefix is never changed.
func (p *Plan) planScripts(i int, allowed bool) {
	m, pkg := p.metas[i], p.Packages[i]
	// Locks leave out what they can derive; the package itself knows.
	number := pkg.Lock.BuildNumber
	if number == 0 {
		number = m.BuildNumber
	}
	for _, kind := range []string{linkscript.PreLink, linkscript.PostLink} {
		for _, s := range m.Scripts {
			if allowed && strings.HasSuffix(s, "-"+kind+".sh") {
				p.scripts = append(p.scripts, plannedScript{owner: i, Script: linkscript.Script{
					Package: pkg.Lock.Name, Version: pkg.Lock.Version, BuildNumber: number, Kind: kind, Path: s,
				}})
			}
		}
	}
	for _, s := range m.Scripts {
		if !allowed {
			p.SkippedScripts = append(p.SkippedScripts, label(pkg)+": "+s)
		}
	}
}

// canRunScripts refuses, before any work, an environment with scripts that nothing
// here can run: without them it would not be what its id says.
func (req *Request) canRunScripts(p *Plan) error {
	if len(p.scripts) == 0 {
		return nil
	}
	err := linkscript.ErrCannotRun
	if req.Scripts != nil {
		err = req.Scripts.CanRun(req.Platform)
	}
	if err != nil {
		return fmt.Errorf("%s of %s is allowed to run: %w", p.scripts[0].Path, label(p.Packages[p.scripts[0].owner]), err)
	}
	return nil
}

// runScripts runs the plan's scripts in the order of their packages, each on its own
// copy of staging, and puts into staging what those changed that did not fail.
func runScripts(ctx context.Context, store *cache.Store, p *Plan, req *Request, staging string, tree *written) (_ *written, out []ScriptResult, err error) {
	if len(p.scripts) == 0 {
		return tree, nil, nil
	}
	a, err := newApplier(store, staging, tree)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	limits := req.ScriptLimits
	if limits == (linkscript.Limits{}) {
		limits = linkscript.DefaultLimits
	}
	for _, s := range p.scripts {
		r, err := runScript(ctx, store, p, s, req, limits, staging, a)
		if err != nil {
			return nil, nil, fmt.Errorf("%s of %s: %w", s.Path, label(p.Packages[s.owner]), err)
		}
		if r.Failed != "" && req.RefuseFailed {
			return nil, nil, fmt.Errorf("%w: %s of %s: %s\n%s", ErrScript, r.Script, r.Package, r.Failed, r.Output)
		}
		out = append(out, *r)
	}
	return a.finish(tree), out, nil
}

func runScript(ctx context.Context, store *cache.Store, p *Plan, s plannedScript, req *Request, limits linkscript.Limits, staging string, a *applier) (_ *ScriptResult, err error) {
	scratch, err := store.TempDir("script")
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := linkscript.RemoveAll(scratch); rerr != nil {
			err = errors.Join(err, fmt.Errorf("%w: remove %s: %w", cache.ErrStore, scratch, rerr))
		}
	}()
	task := &linkscript.Task{Script: s.Script, Prefix: p.Prefix, Platform: p.Platform, Tree: staging, Scratch: filepath.Join(scratch, "run"), Limits: limits}
	if err := os.Mkdir(task.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	if s.Kind == linkscript.PreLink {
		task.Source = filepath.Join(scratch, "source")
		if err := unpackTo(store, p.Packages[s.owner].Manifest, task.Source); err != nil {
			return nil, err
		}
	}
	o, err := req.Scripts.Run(ctx, task)
	if err != nil {
		return nil, err
	}
	r := &ScriptResult{Package: label(p.Packages[s.owner]), Script: s.Path, Failed: o.Failed, Messages: o.Messages, Ignored: o.Ignored}
	if o.Failed == "" {
		r.Failed = a.refuses(o.Changes)
		o.Failed = r.Failed
	}
	if o.Failed != "" {
		r.Output = o.Output
		return r, nil
	}
	r.Changed = len(o.Changes)
	return r, a.apply(ctx, o.Changes)
}

// unpackTo makes a directory with a package's own files, as its archive has them:
// what SOURCE_DIR is for a pre-link script. Nothing in it is a link to the pool.
func unpackTo(store *cache.Store, m *cache.Manifest, at string) error {
	if err := os.Mkdir(at, 0o755); err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	l, err := store.NewLinker(at)
	if err != nil {
		return err
	}
	for _, e := range m.Entries {
		to := filepath.Join(at, filepath.FromSlash(e.Path))
		if err = os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			break
		}
		switch e.Type {
		case cache.EntryDir:
			err = os.MkdirAll(to, 0o755)
		case cache.EntryLink:
			err = os.Symlink(e.Target, to)
		default:
			e.NoLink, e.Placeholder, e.Offsets = true, "", nil
			_, err = l.Link(e, to)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, l.Close())
}

// sourceOf is the Python source that a compiled file stands for; "" = it is none.
func sourceOf(p string) string {
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	stem, _, ok := strings.Cut(name, ".cpython-")
	if !ok || path.Base(dir) != "__pycache__" || !strings.HasSuffix(name, ".pyc") {
		return ""
	}
	return path.Join(path.Dir(dir), stem+".py")
}
