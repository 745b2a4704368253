package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// editableOf is what a manifest says of packages by path; nil where it does not
// have the environment.
func editableOf(proj *project.Project, env string) (map[string]bool, error) {
	m, err := proj.Editable(env)
	var unknown *project.UnknownEnvironmentError
	if errors.As(err, &unknown) {
		return nil, nil // the lock decides whether there is such an environment
	}
	if err != nil {
		return nil, refuse(api.ExitUsage, "%w", err)
	}
	return m, nil
}

// manifestOf reads the manifest beside an inherited pin's lock, for another environment
// than those of the pin; nil = there is none.
func manifestOf(lock string) (*project.Project, error) {
	if lock == "" {
		return nil, nil
	}
	proj, err := project.Load(filepath.Dir(lock))
	if err != nil {
		return nil, refuse(api.ExitUsage, "%w", err)
	}
	return proj, nil
}

// checkTrees refuses projects that cannot be used from their source trees before
// anything is prepared for them. What is wrong with the lock itself is for the
// preparation to say.
func (s *submission) checkTrees(w *wanted) error {
	if python := project.OpenPython("", w.data); python != nil {
		_, err := editable.Wish{Lock: w.shown, Trees: python.Trees(w.name)}.Projects()
		return s.aboutTrees(w, err)
	}
	lock, err := lockfile.Parse(w.data)
	if err != nil {
		return nil
	}
	env, err := lock.Environment(w.name)
	if err != nil {
		return nil
	}
	wish := editable.Wish{Lock: w.shown, Trees: lockfile.SourceTrees(env.Platforms...), Editable: w.editable}
	_, err = wish.Projects()
	return s.aboutTrees(w, err)
}

// aboutTrees puts before an error about source trees what it is about.
func (s *submission) aboutTrees(w *wanted, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, editable.ErrRefused):
		return &notSubmitted{w.shown, refuse(api.ExitUsage, "environment %s: %w", w.name, err)}
	}
	return refuse(api.ExitFailed, "%w", err)
}

// overlay writes what the user's own projects add to the environment; nil = there
// are none.
func (s *submission) overlay(ctx context.Context, st *submitStore, w *wanted, r *readiness) (*pin.Overlay, error) {
	if len(r.trees) == 0 || w.overlay != nil {
		return w.overlay, nil
	}
	prefixes := map[string]string{"": filepath.Join(s.prefixRoot, r.id)}
	if st.own {
		prefixes = map[string]string{}
		for _, p := range r.lockPlatforms {
			prefixes[p] = filepath.Join(st.root, "trees", p, r.id)
		}
	}
	wish := editable.Wish{Lock: w.shown, Trees: r.trees, Editable: w.editable}
	a, err := wish.Apply(r.id, prefixes, os.Getenv)
	if err != nil {
		return nil, s.aboutTrees(w, err)
	}
	for _, note := range a.Notes {
		fmt.Fprintf(s.stderr, "%s: hpcenv: %s\n", s.context, note)
	}
	return &pin.Overlay{Dir: a.Dir, PerPlatform: a.PerPlatform, Sources: a.Sources(ctx)}, nil
}

// seesOverlay checks that this node sees the overlay and the projects in it.
func seesOverlay(p *pin.Pin, files prepared.Store, platform string) error {
	if p.Overlay == nil {
		return nil
	}
	dir := p.OverlayDir(platform)
	if err := files.Sees(filepath.Join(dir, editable.Site)); err != nil {
		return refuse(api.ExitUnreachable, "what your project adds to the environment is not visible on this node (%w); next: export %s=DIRECTORY, one that all nodes see (below your project, say), and submit again", err, editable.RootVariable)
	}
	for _, src := range p.Overlay.Sources {
		if err := files.Sees(src.Dir); err != nil {
			return refuse(api.ExitUnreachable, "your project %s is not visible on this node (%w); it is used from its source tree; next: put it on storage that all nodes see, and submit again", src.Name, err)
		}
	}
	return nil
}
