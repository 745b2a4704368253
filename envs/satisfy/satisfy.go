// Package satisfy tells whether a lock still has what the manifest beside it asks
// for, as `pixi --locked` and `uv lock --check` do.
//
// Enters: a project.Project and a lockfile.Lock, or the bytes of a uv.lock and where
// it lies. Leaves: the reasons why the lock must be written anew (Check, CheckUV), or
// one error with all of them (Verify, VerifyUV, which remember what they found to be
// in order). Nothing is solved.
//
// Of a pixi.lock is compared, for every environment and platform, those of other systems
// included:
//
//	environments  the same names
//	channels      the same; their order, where it is beyond doubt
//	platforms     the same, and in a lock of version 7 the same virtual packages
//	conda         every package that the manifest asks for is locked, fits, and so
//	              does what it depends on in turn; none is locked that nothing needs
//	Python        the same for Python packages, on Linux; a conda package stands for
//	              the Python package that it says it is or, of conda-forge where the
//	              lock does not say, that it is called
//	indexes       the first index, and indexes of single packages
//	source trees  version, requires-python and requirements, as far as the tree's
//	              pyproject.toml says them
//
// What is not: solver options (strategy, channel priority, exclude-newer,
// pre-releases), tags of wheels and sources of packages that are built (both are
// judged when they are installed), and `constraints`. Where this package cannot be
// sure it is silent: a stale lock that is taken does no more harm than it did when it
// was written, but a good one that is refused stops work.
//
// A uv.lock is compared with the pyproject.toml of its workspace's members and of all
// directories that it names (CheckUV), as `uv lock --check` does:
//
//	workspace     members, requires-python (its bounds), overrides, constraints, build
//	              constraints, excluded packages, resolution and pre-releases
//	projects      name, version, requirements, extras, dependency groups, whether it is
//	              built, and from where packages come ([tool.uv.sources])
//
// Conditions are compared by where they hold, not by how they are written. What uv
// sees besides: settings of its own (fork-strategy, exclude-newer,
// environments, conflicts, indexes, static metadata), empty groups, groups with Pythons
// of their own, and what only a build back-end can tell. A pylock.toml does not say what
// it was made from: nothing is compared.
//
//	satisfy.go    a pixi.lock: environments and platforms
//	conda.go, python.go, channels.go, trees.go: what lies within each
//	uv.go, uvtree.go: a uv.lock: workspace and projects
//	uvlocked.go   what a uv.lock recorded
//	manifests.go  the files that are read
//	demand.go     requirements, compared; probe.go: where
//	verify.go     one error, and what was in order
package satisfy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// checker collects reasons.
type checker struct {
	p        *project.Project
	lock     *lockfile.Lock
	problems []problem
	// specs that were read; environments repeat them. nil = not understood.
	specs map[string]*matchspec.MatchSpec
	// versions likewise.
	versions map[string]*version.Version
	// manifests of source trees.
	manifests *manifests
}

// spec reads a match specification; nil where it is none that is known here.
func (c *checker) spec(text string) *matchspec.MatchSpec {
	m, seen := c.specs[text]
	if !seen {
		m, _ = matchspec.Parse(text) // what is not understood is not judged
		c.specs[text] = m
	}
	return m
}

// version reads a conda version; nil where it is none.
func (c *checker) version(text string) *version.Version {
	v, seen := c.versions[text]
	if !seen {
		if parsed, err := version.Parse(text); err == nil {
			v = &parsed
		}
		c.versions[text] = v
	}
	return v
}

// problem is a reason with the places where it holds.
type problem struct {
	text  string
	where []string
}

func (p problem) String() string {
	switch n := len(p.where); {
	case n == 0:
		return p.text
	case n <= 2:
		return strings.Join(p.where, ", ") + ": " + p.text
	default:
		return fmt.Sprintf("%s and %d more: %s", p.where[0], n-1, p.text)
	}
}

// add a reason; line is the manifest's, 0 = none.
func (c *checker) add(line int32, format string, args ...any) { c.addAt("", line, format, args...) }

// addAt adds a reason that holds somewhere; the same reason counts once.
func (c *checker) addAt(where string, line int32, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if line > 0 {
		text += fmt.Sprintf(" (line %d)", line)
	}
	i := slices.IndexFunc(c.problems, func(p problem) bool { return p.text == text })
	if i < 0 {
		i = len(c.problems)
		c.problems = append(c.problems, problem{text: text})
	}
	if where != "" && !slices.Contains(c.problems[i].where, where) {
		c.problems[i].where = append(c.problems[i].where, where)
	}
}

// Check returns why a lock does not satisfy its manifest, one reason each, in
// the order environments, then what lies within each; nil if it does. Errors are
// of class project.ErrManifest.
func Check(p *project.Project, lock *lockfile.Lock) ([]string, error) {
	return check(p, lock, newManifests(p.Root))
}

func check(p *project.Project, lock *lockfile.Lock, m *manifests) ([]string, error) {
	if p.Package {
		return nil, nil // the lock is another manifest's
	}
	c := &checker{p: p, lock: lock, specs: map[string]*matchspec.MatchSpec{}, versions: map[string]*version.Version{}, manifests: m}
	for _, name := range p.Environments() {
		env, err := lock.Environment(name)
		if err != nil {
			c.add(0, "the manifest has the environment %q, the lock has not", name)
			continue
		}
		if err := c.environment(env); err != nil {
			return nil, err
		}
	}
	for _, env := range lock.Environments {
		if !slices.Contains(p.Environments(), env.Name) {
			c.add(0, "the lock has the environment %q, the manifest has not", env.Name)
		}
	}
	var reasons []string
	for _, p := range c.problems {
		reasons = append(reasons, p.String())
	}
	return reasons, nil
}

func (c *checker) environment(env *lockfile.Environment) error {
	if err := c.channels(env); err != nil {
		return err
	}
	if err := c.indexes(env); err != nil {
		return err
	}
	wanted, err := c.p.PlatformsOf(env.Name)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil // pixi decides where it runs
	}
	all := append(slices.Clone(env.Platforms), env.Others...)
	used := map[*lockfile.Platform]bool{}
	for _, on := range wanted {
		asks, err := c.p.VirtualPackages(env.Name, on)
		if err != nil {
			return err
		}
		locked := c.platform(env.Name, on, asks, all)
		if locked != nil {
			used[locked] = true
		}
		if err := c.packages(env, on, locked); err != nil {
			return err
		}
	}
	for _, locked := range all {
		if !used[locked] && len(locked.Conda)+len(locked.PyPI)+len(locked.Unsupported) > 0 {
			c.add(0, "environment %s is locked for the platform %s, which the manifest does not have", env.Name, locked.Name)
		}
	}
	return nil
}

// platform finds the lock's platform for one of the manifest, and complains where
// the two differ.
func (c *checker) platform(env string, on project.Platform, asks map[string]string, all []*lockfile.Platform) *lockfile.Platform {
	found, same := Locked(c.lock.Version, on, asks, all)
	switch {
	case found == nil || same:
	case found.Subdir != on.Subdir:
		c.add(on.Line, "the platform %s is %s in the manifest and %s in the lock", on.Name, on.Subdir, found.Subdir)
	default:
		c.add(on.Line, "environment %s: the platform %s asks for %s in the manifest, and was locked for %s", env, on.Name, virtualText(asks), orNothing(strings.Join(found.VirtualPackages, ", ")))
	}
	return found
}

// Locked finds the lock's platform for one of the manifest that asks something of
// a machine (project.VirtualPackages): in pixi.lock up to version 6 by subdir; in
// version 7 by name, or, as pixi renames platforms that ask something, by what it
// asks. nil = there is none; same is false of one that has the name alone, which
// was locked for something else.
func Locked(version int, on project.Platform, asks map[string]string, all []*lockfile.Platform) (found *lockfile.Platform, same bool) {
	if version < 7 {
		for _, l := range all {
			if l.Subdir == on.Subdir {
				return l, true
			}
		}
		return nil, false
	}
	for _, l := range all {
		switch {
		case l.Subdir == on.Subdir && agree(asks, l.VirtualPackages):
			if !same || l.Name == on.Name {
				found, same = l, true
			}
		case l.Name == on.Name && !same:
			found = l
		}
	}
	return found, same
}

// decisive are the virtual packages whose change changes what is locked; the
// others have defaults that depend on the version of pixi.
var decisive = []string{"__cuda", "__cuda_arch", "__glibc"}

// agree tells whether a locked platform is the one that the manifest means.
func agree(asks map[string]string, locked []string) bool {
	for _, name := range decisive {
		want, asked := asks[name]
		have, found := "", false
		for _, v := range locked {
			n, rest, _ := strings.Cut(v, "=")
			if n == name {
				have, _, _ = strings.Cut(rest, "=")
				found = true
			}
		}
		switch {
		case !asked && name == "__glibc": // the default of that pixi
		case asked != found:
			return false
		case asked && !sameVersion(want, have):
			return false
		}
	}
	return true
}

func virtualText(asks map[string]string) string {
	var out []string
	for _, name := range decisive {
		if v, ok := asks[name]; ok {
			out = append(out, name+"="+v)
		}
	}
	return orNothing(strings.Join(out, ", "))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
