package editable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python/name"
)

// Wish is what somebody wants of the source trees of an environment.
type Wish struct {
	// Lock is the lock's absolute path: relative trees are relative to it.
	Lock  string
	Trees []lockfile.SourceTree
	// Editable is what the manifest says, by normalized name.
	Editable map[string]bool
}

// Refusals are all projects of an environment that cannot be used so. It wraps
// ErrRefused.
type Refusals []*Refusal

// Error implements error.
func (r Refusals) Error() string {
	if len(r) == 1 {
		return fmt.Sprintf("%v: %v", ErrRefused, r[0])
	}
	lines := []string{fmt.Sprintf("%d projects cannot be used from their source trees:", len(r))}
	for _, err := range r {
		lines = append(lines, "  "+err.text("; to do: "))
	}
	return strings.Join(lines, "\n") + "\nnext: what is said of each"
}

// Unwrap gives the class.
func (r Refusals) Unwrap() error { return ErrRefused }

// Projects reads them all. The error is Refusals, of all that have to be refused.
func (w Wish) Projects() ([]*Project, error) {
	var out []*Project
	var refused Refusals
	for _, t := range w.Trees {
		p, err := w.project(t)
		var one *Refusal
		switch {
		case errors.As(err, &one):
			refused = append(refused, one)
		case err != nil:
			return nil, err
		default:
			out = append(out, p)
		}
	}
	if refused != nil {
		return nil, refused
	}
	return out, nil
}

func (w Wish) project(t lockfile.SourceTree) (*Project, error) {
	dir, err := t.Dir(filepath.Dir(w.Lock))
	if err != nil {
		return nil, err
	}
	if !t.Editable && !w.Editable[name.Normalize(t.Name)] {
		return nil, &Refusal{Name: t.Name, Dir: dir, Reason: "the manifest asks for a copy of it, which would have to be built",
			Next: "write `editable = true` beside its path in the manifest, or " + buildWheel}
	}
	return Read(Tree{Name: t.Name, Version: t.Version, Dir: dir, RequiresDist: t.RequiresDist, RequiresPython: t.RequiresPython})
}

// Applied is an overlay that was written.
type Applied struct {
	// Dir of the overlay; PerPlatform: of each platform in a directory of its name.
	Dir         string
	PerPlatform bool
	// Notes for the user.
	Notes []string

	projects []*Project
}

// Sources are the projects and the states in which they are now.
func (a *Applied) Sources(ctx context.Context) []Source {
	var out []Source
	for _, p := range a.projects {
		out = append(out, Describe(ctx, p.Name, p.Dir))
	}
	return out
}

// Apply writes the overlay for the environment of an id; prefixes as for New.
// Without source trees it does nothing and returns nil. Errors about the projects
// are Refusals.
func (w Wish) Apply(id string, prefixes map[string]string, getenv func(string) string) (*Applied, error) {
	if len(w.Trees) == 0 {
		return nil, nil
	}
	projects, err := w.Projects()
	if err != nil {
		return nil, err
	}
	overlay, err := New(projects, prefixes)
	if err != nil {
		return nil, err
	}
	root, err := Root(getenv)
	if err != nil {
		return nil, err
	}
	a := &Applied{projects: projects}
	_, same := prefixes[""]
	a.PerPlatform = !same
	if a.Dir, err = overlay.Write(root, id); err != nil {
		return nil, err
	}
	for _, p := range projects {
		a.Notes = append(a.Notes, p.Notes...)
	}
	return a, nil
}

// For is the directory of the overlay for a platform.
func (a *Applied) For(platform string) string { return OverlayDir(a.Dir, a.PerPlatform, platform) }

// OverlayDir is the part of an overlay that a platform has.
func OverlayDir(dir string, perPlatform bool, platform string) string {
	if !perPlatform {
		return dir
	}
	return filepath.Join(dir, platform)
}
