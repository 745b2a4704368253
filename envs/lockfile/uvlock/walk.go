package uvlock

import (
	"fmt"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
)

// step is an entry's dependencies, or those of one of its extras.
type step struct {
	*entry
	extra string // "" = the entry's own
}

// walk goes along the dependencies whose markers hold.
type walk struct {
	lock *Lock
	env  *marker.Environment
	// active items, for markers that ask.
	active map[item]bool
	queue  []step
	seen   map[step]bool
	// chosen entries, and which of their extras were asked for.
	chosen map[*entry][]string
}

func (l *Lock) newWalk(env *marker.Environment, active map[item]bool) *walk {
	w := &walk{lock: l, env: env, active: map[item]bool{}, seen: map[step]bool{}, chosen: map[*entry][]string{}}
	for i := range active {
		w.activate(i)
	}
	return w
}

func (w *walk) activate(i item) {
	if !w.active[i] {
		w.active[i] = true
		w.env.Extras = append(w.env.Extras, i.asExtra())
	}
}

// holds evaluates a dependency's marker; where more items were active, it says
// whether it would hold then.
func (w *walk) holds(d *dependency, more ...item) (bool, error) {
	if d.marker == nil {
		return true, nil
	}
	n := len(w.env.Extras)
	for _, i := range more {
		w.env.Extras = append(w.env.Extras, i.asExtra())
	}
	holds, err := d.marker.Evaluate(w.env)
	w.env.Extras = w.env.Extras[:n]
	if err != nil {
		return false, fmt.Errorf("%w: uv.lock, line %d: `%s`: %w", lockfile.ErrLock, d.line, d.name, err)
	}
	return holds, nil
}

// take chooses an entry with extras and queues what follows from it.
func (w *walk) take(e *entry, extras []string) {
	if _, there := w.chosen[e]; !there {
		w.chosen[e] = nil
	}
	w.push(step{e, ""})
	for _, x := range extras {
		if w.push(step{e, x}) {
			w.chosen[e] = append(w.chosen[e], x)
		}
	}
}

// push queues a step unless it was queued before.
func (w *walk) push(s step) bool {
	if w.seen[s] {
		return false
	}
	w.seen[s] = true
	w.queue = append(w.queue, s)
	return true
}

// begin takes the roots, and what their groups and the root that is no package
// depend on.
func (w *walk) begin(st *start) error {
	for _, r := range st.roots {
		if !st.onlyGroups {
			w.take(r.entry, r.extras)
		}
	}
	for _, r := range st.roots {
		for _, g := range r.groups {
			for _, d := range r.entry.groups[g] {
				holds, err := w.holds(&d)
				if err != nil {
					return err
				}
				if holds {
					w.take(d.to, d.extras)
				}
			}
		}
	}
	if !st.whole {
		return nil
	}
	var requirements [][]dependency
	if !st.onlyGroups {
		requirements = append(requirements, w.lock.requirements)
	}
	for _, g := range st.groups {
		requirements = append(requirements, w.lock.groups[g])
	}
	for _, list := range requirements {
		for _, d := range list {
			if err := w.require(&d); err != nil {
				return err
			}
		}
	}
	return nil
}

// require takes the entry that a requirement of the root means in this fork.
func (w *walk) require(d *dependency) error {
	holds, err := w.holds(d)
	if err != nil || !holds {
		return err
	}
	e, err := w.lock.find(d.name, w.env)
	if err != nil {
		return fmt.Errorf("%w: uv.lock, line %d: `%s`: %w", lockfile.ErrLock, d.line, d.name, err)
	}
	if e == nil {
		return fmt.Errorf("%w: uv.lock, line %d: `%s` is required, but no entry is for this target", lockfile.ErrLock, d.line, d.name)
	}
	w.take(e, d.extras)
	return nil
}

// run goes on until nothing is left. activating: what dependencies ask of
// extras becomes active on the way.
func (w *walk) run(activating bool) error {
	for len(w.queue) > 0 {
		s := w.queue[0]
		w.queue = w.queue[1:]
		list := s.dependencies
		if s.extra != "" {
			list = s.entry.extras[s.extra]
		}
		for i := range list {
			d := &list[i]
			var more []item
			if activating {
				for _, x := range d.extras {
					more = append(more, item{pkg: d.to.name, extra: x})
				}
			}
			holds, err := w.holds(d, more...)
			if err != nil {
				return err
			}
			if !holds {
				continue
			}
			for _, m := range more {
				w.activate(m)
			}
			w.take(d.to, d.extras)
		}
	}
	return nil
}
