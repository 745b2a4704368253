package sitebuild

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Applying returns the builds that apply to an environment on a platform. Errors: a
// script that cannot be read.
func Applying(declared []*Declaration, store *cache.Store, meta *materialize.Meta) ([]*Build, error) {
	var out []*Build
	for _, d := range declared {
		nodes, ok := d.OnPlatform(meta.Platform)
		if !ok {
			continue
		}
		wrapper := d.Of(meta)
		if wrapper == nil {
			continue
		}
		b := &Build{Declaration: d, Environment: meta.ID, Prefix: meta.Prefix, Platform: meta.Platform, Wrapper: wrapper, Root: store.PrefixRoot(), nodes: nodes}
		var err error
		if b.script, err = d.readScript(); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// scriptName is the script's name in the directory that the build finds its sources in.
const scriptName = "hpcenv-site-build"

// noOverlay is where a probe finds an empty directory in place of the overlay.
const noOverlay = "/overlay"

// Ask asks a node, by a job, what it compiles with: the Outcome's Output.
func (b *Build) Ask(ctx context.Context, r linkscript.Runner, scratch string) (*linkscript.Outcome, error) {
	t, err := b.task(scratch, linkscript.SiteProbe, noOverlay, b.Probe)
	if err != nil {
		return nil, err
	}
	return r.Run(ctx, t)
}

// Run builds, by a job, what lies at the overlay's final path. sources are the paths of
// the archives. What it made is in the Outcome, verified, with contents below scratch.
func (b *Build) Run(ctx context.Context, r linkscript.Runner, scratch, identity string, sources []string) (*linkscript.Outcome, error) {
	overlay := path.Join(b.Root, b.OverlayID(identity))
	var argv []string
	if b.script != nil {
		argv = append(argv, path.Join(linkscript.SourceAt, scriptName))
	}
	expand := strings.NewReplacer("${prefix}", b.Prefix, "${overlay}", overlay, "${sources}", linkscript.SourceAt)
	for _, a := range b.Arguments {
		argv = append(argv, expand.Replace(a))
	}
	t, err := b.task(scratch, linkscript.SiteBuild, overlay, argv)
	if err != nil {
		return nil, err
	}
	t.Site.Probe, t.Site.Identity = b.Probe, identity
	if b.script != nil {
		if err := os.WriteFile(filepath.Join(t.Source, scriptName), b.script, 0o755); err != nil {
			return nil, err
		}
	}
	for i, from := range sources {
		src, err := b.Sources[i].source()
		if err != nil {
			return nil, err
		}
		if err := copyFile(from, filepath.Join(t.Source, src.Name)); err != nil {
			return nil, err
		}
	}
	return r.Run(ctx, t)
}

// task makes the directories of a task below scratch.
func (b *Build) task(scratch, kind, at string, argv []string) (*linkscript.Task, error) {
	t := &linkscript.Task{
		Script: linkscript.Script{Package: b.Wrapper.Name, Version: b.Wrapper.Version, Kind: kind, Path: b.Name},
		Prefix: at, Platform: b.Platform, Limits: b.limits(),
		Tree: filepath.Join(scratch, kind+"-tree"), Source: filepath.Join(scratch, kind+"-source"), Scratch: filepath.Join(scratch, kind+"-run"),
		Site: &linkscript.Site{
			Environment: b.Environment, EnvPrefix: b.Prefix, Argv: argv, Paths: b.Paths, Sbatch: b.nodes.Sbatch,
			Env: []string{"HPCENV_CONDUIT=" + b.Conduit, "HPCENV_SYSTEM=" + b.System, "HPCENV_MPI=" + b.MPI, "HPCENV_COMPILER=" + b.Compiler, "HPCENV_MICROARCHITECTURE=" + b.Microarchitecture},
		},
	}
	for _, dir := range []string{t.Tree, t.Source, t.Scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
	}
	return t, nil
}

// Archives are the sources as the cache knows them.
func (b *Build) Archives() ([]cache.Source, error) {
	var out []cache.Source
	for _, s := range b.Sources {
		src, err := s.source()
		if err != nil {
			return nil, err
		}
		out = append(out, src)
	}
	return out, nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() // only read
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}
