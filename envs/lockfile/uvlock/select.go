package uvlock

import (
	"fmt"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
)

// Options are what a lock leaves to the pyproject.toml of the member that is
// asked for, or else to the one beside the lock; Defaults reads them.
type Options struct {
	// DefaultGroups are installed unless the selection says otherwise; nil = as uv
	// has it without configuration: `dev`.
	DefaultGroups []string
	// DefaultAll: all groups are default ones.
	DefaultAll bool
}

// Select chooses the packages of a selection for a target, in the lock's order.
// Source trees, git commits and source archives are among them: whether those
// can be built is for the caller to say. The error wraps python.ErrSelection
// (extras, groups or members that are not there) or lockfile.ErrLock (the target
// is not one of the lock's, or files are missing: all are named).
func (l *Lock) Select(target *python.Target, s python.Selection, options Options) ([]*lockfile.PyPIPackage, error) {
	s, err := s.Canonical()
	if err != nil {
		return nil, err
	}
	if !l.RequiresPython.Contains(target.Version) {
		return nil, fmt.Errorf("%w: uv.lock is for Python %s, not for %s", lockfile.ErrLock, l.RequiresPython, target.Version)
	}
	env := target.Environment()
	if fits, err := anyHolds(l.supported, env); err != nil || !fits {
		if err != nil {
			return nil, fmt.Errorf("%w: uv.lock: `supported-markers`: %w", lockfile.ErrLock, err)
		}
		return nil, fmt.Errorf("%w: uv.lock is not for %s: none of its `supported-markers` holds there", lockfile.ErrLock, target)
	}
	st, err := l.start(s, options)
	if err != nil {
		return nil, err
	}
	active, err := l.activate(target, st)
	if err != nil {
		return nil, err
	}
	w := l.newWalk(target.Environment(), active)
	if err := w.begin(st); err != nil {
		return nil, err
	}
	if err := w.run(false); err != nil {
		return nil, err
	}
	return l.deliver(target, w.chosen)
}

// activate finds the items that markers may ask for; none in a lock without
// conflicts.
func (l *Lock) activate(target *python.Target, st *start) (map[item]bool, error) {
	if len(l.conflicts) == 0 {
		return nil, nil
	}
	w := l.newWalk(target.Environment(), nil)
	for _, r := range st.roots {
		if !st.onlyGroups {
			w.activate(item{pkg: r.name})
			for _, x := range r.extras {
				w.activate(item{pkg: r.name, extra: x})
			}
		}
		for _, g := range r.groups {
			w.activate(item{pkg: r.name, group: g})
		}
	}
	// What is asked for outright is judged before anything follows from it.
	if err := l.exclusive(w.active); err != nil {
		return nil, err
	}
	if err := w.begin(st); err != nil {
		return nil, err
	}
	if err := w.run(true); err != nil {
		return nil, err
	}
	return w.active, l.exclusive(w.active)
}
