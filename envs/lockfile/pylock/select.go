package pylock

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// Select chooses the packages of a selection for a target, in the lock's order.
// Source trees, git commits and source archives are among them: whether those
// can be built is for the caller to say. The error wraps python.ErrSelection
// (extras or groups that are not there; members, which no pylock.toml has) or
// lockfile.ErrLock (the target is not one of the lock's, or files are missing:
// all are named).
func (l *Lock) Select(target *python.Target, s python.Selection) ([]*lockfile.PyPIPackage, error) {
	s, err := s.Canonical()
	if err != nil {
		return nil, err
	}
	if s.Package != "" || s.AllPackages || s.OnlyGroups {
		return nil, fmt.Errorf("%w: a pylock.toml has no members, and its groups are not apart from the rest: ask for extras and groups only", python.ErrSelection)
	}
	env := target.Environment()
	if env.Extras, err = s.WantedExtras(l.Extras); err != nil {
		return nil, fmt.Errorf("pylock.toml: %w", err)
	}
	all := append(append([]string{}, l.DependencyGroups...), l.DefaultGroups...)
	if env.DependencyGroups, err = s.WantedGroups(all, l.DefaultGroups); err != nil {
		return nil, fmt.Errorf("pylock.toml: %w", err)
	}
	if err := l.admits(target); err != nil {
		return nil, err
	}

	tags := target.Tags()
	var packages []*lockfile.PyPIPackage
	var trouble []string
	first := map[string]*entry{}
	for _, e := range l.packages {
		holds, err := e.marker.Evaluate(env)
		if err != nil {
			trouble = append(trouble, fmt.Sprintf("line %d: package `%s`: %v", e.line, e.name, err))
			continue
		}
		if !holds {
			continue
		}
		other := first[e.name]
		if other == nil {
			first[e.name] = e
		}
		p, err := e.choose(target, tags, other)
		if err != nil {
			trouble = append(trouble, fmt.Sprintf("line %d: package `%s` %s: %v", e.line, e.name, e.version, err))
			continue
		}
		packages = append(packages, p)
	}
	if trouble != nil {
		return nil, fmt.Errorf("%w: pylock.toml: %d packages cannot be had for %s:\n  %s\nnext: write the lock anew for this target, or leave out what needs them",
			lockfile.ErrLock, len(trouble), target, strings.Join(trouble, "\n  "))
	}
	return packages, nil
}

// admits: the lock is for the target.
func (l *Lock) admits(target *python.Target) error {
	if !l.RequiresPython.Contains(target.Version) {
		return fmt.Errorf("%w: pylock.toml is for Python %s, not for %s", lockfile.ErrLock, l.RequiresPython, target.Version)
	}
	if l.environments == nil {
		return nil
	}
	env := target.Environment()
	var names []string
	for _, m := range l.environments {
		fits, err := m.Evaluate(env)
		if err != nil {
			return fmt.Errorf("%w: pylock.toml: `environments`: %w", lockfile.ErrLock, err)
		}
		if fits {
			return nil
		}
		names = append(names, m.String())
	}
	return fmt.Errorf("%w: pylock.toml is not for %s: its `environments` are %s", lockfile.ErrLock, target, strings.Join(names, "; "))
}

// choose takes the one file of an entry that is to be installed; other is an
// entry of the same name that was chosen before.
func (e *entry) choose(target *python.Target, tags *tag.Set, other *entry) (*lockfile.PyPIPackage, error) {
	if other != nil {
		return nil, fmt.Errorf("it is chosen twice: %s too (line %d)", other.version, other.line)
	}
	if !e.requiresPython.Contains(target.Version) {
		return nil, fmt.Errorf("it is for Python %s", e.requiresPython)
	}
	p := &lockfile.PyPIPackage{Index: pyfile.IndexURL(e.index)}
	if e.direct != nil {
		*p = *e.direct
	}
	p.Name, p.Version, p.RequiresPython, p.Line = e.name, e.version, e.requiresPython.String(), int(e.line)
	file := e.archive
	if e.direct == nil {
		if file = pyfile.Best(tags, e.wheels); file == nil {
			file = e.sdist
		}
		if file == nil {
			return nil, fmt.Errorf("%s", pyfile.None(target, e.wheels))
		}
	}
	if file == nil {
		return p, nil // a repository or directory
	}
	if file.Wheel != nil {
		if why := target.WhyNot(file.Wheel); why != "" {
			return nil, fmt.Errorf("%s %s", file.Name, why)
		}
	}
	if err := file.Verified(); err != nil {
		return nil, err
	}
	file.Into(p)
	return p, nil
}
