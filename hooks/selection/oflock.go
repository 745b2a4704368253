package selection

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// namedPackages is how many packages of a requirement are kept: as many as a
// message names. A lock has hundreds that ask for one glibc, and what OfLock
// returns is kept in the store for each lock, and read at each submission.
const namedPackages = 3

// OfLock describes the environments of a lock as selection sees them, sorted by
// name. proj is the manifest beside a pixi.lock; nil = there is none, and nothing
// is explicit or ranked then. Of a lock that names no environments (uv.lock,
// pylock.toml) lock has the one that a wish made of it, and proj does not count.
//
// Platforms are in the order in which the manifest declares them, which is their
// priority among several of one subdir; without one, the platform that is called
// like its subdir comes first (it asks the least), then by name.
//
// The error wraps project.ErrManifest: the lock has an environment that the
// manifest has not, so that nobody can tell whether it may be taken unasked.
func OfLock(lock *lockfile.Lock, proj *project.Project) ([]Environment, error) {
	if lock.Format != lockfile.FormatPixi {
		proj = nil
	}
	out := make([]Environment, 0, len(lock.Environments))
	for _, env := range lock.Environments {
		e := Environment{Name: env.Name, Platforms: []Candidate{}}
		var declared []project.Platform
		if proj != nil {
			hasDefault, err := proj.Default(env.Name)
			if err != nil {
				return nil, fmt.Errorf("the lock's environments: %w", err)
			}
			e.Explicit = !hasDefault
			e.Rank = 1 + slices.Index(proj.Preferred, env.Name)
			if declared, err = proj.PlatformsOf(env.Name); err != nil {
				return nil, fmt.Errorf("the lock's environments: %w", err)
			}
		}
		for _, p := range inOrder(env.Platforms, declared) {
			var manifest map[string]string
			if proj != nil {
				var err error
				if manifest, err = proj.VirtualPackages(env.Name, declaredAs(p, declared)); err != nil {
					return nil, fmt.Errorf("the lock's environments: %w", err)
				}
			}
			e.Platforms = append(e.Platforms, candidate(p, manifest))
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Environment) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func candidate(p *lockfile.Platform, manifest map[string]string) Candidate {
	c := Candidate{Platform: p.Name, Subdir: p.Subdir, Stack: stack.Of(p, manifest)}
	if err := p.Validate(); err != nil {
		c.Problem = problem(err)
	}
	for _, r := range requirement.Of(p, manifest) {
		if err := requirement.Readable(r); err != nil && c.Problem == "" {
			c.Problem = err.Error()
		}
		c.Requirements = append(c.Requirements, r.Short(namedPackages))
	}
	return c
}

// problem is the first of what forbids installing, and how many more there are.
func problem(err error) string {
	var all *lockfile.ProblemsError
	if !errors.As(err, &all) || len(all.Problems) == 0 {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	text := all.Problems[0]
	if n := len(all.Problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more like it)", n)
	}
	return text
}

// inOrder sorts the lock's platforms as OfLock promises.
func inOrder(platforms []*lockfile.Platform, declared []project.Platform) []*lockfile.Platform {
	place := func(p *lockfile.Platform) int {
		if i := declaration(p, declared); i >= 0 {
			return i
		}
		return len(declared)
	}
	plain := func(p *lockfile.Platform) int {
		if p.Name == p.Subdir {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(platforms), func(a, b *lockfile.Platform) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(plain(a), plain(b)), cmp.Compare(a.Name, b.Name))
	})
}

// declaredAs is the manifest's platform that a lock's is, or else one that asks
// nothing by itself.
func declaredAs(p *lockfile.Platform, declared []project.Platform) project.Platform {
	if i := declaration(p, declared); i >= 0 {
		return declared[i]
	}
	return project.Platform{Name: p.Name, Subdir: p.Subdir}
}

// declaration finds the manifest's platform of a lock's name, else the first of
// its subdir (a lock before version 7 knows subdirs only); -1 = none.
func declaration(p *lockfile.Platform, declared []project.Platform) int {
	if i := slices.IndexFunc(declared, func(d project.Platform) bool { return d.Name == p.Name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(declared, func(d project.Platform) bool { return d.Subdir == p.Subdir })
}
