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
	"github.com/hpcenv/hpcenv/envs/satisfy"
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
// An environment that the manifest has not (a lock that is taken as it is, --frozen) is
// there for those who name it. The error wraps project.ErrManifest.
func OfLock(lock *lockfile.Lock, proj *project.Project) ([]Environment, error) {
	if lock.Format != lockfile.FormatPixi {
		proj = nil
	}
	out := make([]Environment, 0, len(lock.Environments))
	for _, env := range lock.Environments {
		e := Environment{Name: env.Name, Platforms: []Candidate{}}
		var declared []project.Platform
		of := proj
		var hasDefault bool
		if of != nil {
			var err error
			var unknown *project.UnknownEnvironmentError
			if hasDefault, err = of.Default(env.Name); errors.As(err, &unknown) {
				e.Explicit, of = true, nil
			} else if err != nil {
				return nil, fmt.Errorf("the lock's environments: %w", err)
			}
		}
		if of != nil {
			var err error
			e.Explicit = !hasDefault
			e.Rank = 1 + slices.Index(proj.Preferred, env.Name)
			if declared, err = proj.PlatformsOf(env.Name); err != nil {
				return nil, fmt.Errorf("the lock's environments: %w", err)
			}
		}
		if err := e.add(lock.Version, env, of, declared); err != nil {
			return nil, fmt.Errorf("the lock's environments: %w", err)
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

// add describes the platforms of an environment, those that the manifest declares
// first. A lock that is newer or older than its manifest may have others, of which
// the manifest says nothing by name.
func (e *Environment) add(version int, env *lockfile.Environment, proj *project.Project, declared []project.Platform) error {
	rest := plainFirst(env.Platforms)
	take := func(p *lockfile.Platform, on project.Platform) error {
		var manifest map[string]string
		if proj != nil {
			var err error
			if manifest, err = proj.VirtualPackages(env.Name, on); err != nil {
				return err
			}
		}
		e.Platforms = append(e.Platforms, candidate(p, manifest))
		return nil
	}
	for _, on := range declared {
		asks, err := proj.VirtualPackages(env.Name, on)
		if err != nil {
			return err
		}
		p, _ := satisfy.Locked(version, on, asks, rest)
		if p == nil {
			continue
		}
		if err := take(p, on); err != nil {
			return err
		}
		rest = slices.DeleteFunc(rest, func(r *lockfile.Platform) bool { return r == p })
	}
	for _, p := range rest {
		if err := take(p, project.Platform{Name: p.Name, Subdir: p.Subdir}); err != nil {
			return err
		}
	}
	return nil
}

// plainFirst are platforms that are called like their subdir, then the others, by
// name.
func plainFirst(platforms []*lockfile.Platform) []*lockfile.Platform {
	plain := func(p *lockfile.Platform) int {
		if p.Name == p.Subdir {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(platforms), func(a, b *lockfile.Platform) int {
		return cmp.Or(cmp.Compare(plain(a), plain(b)), cmp.Compare(a.Name, b.Name))
	})
}
