package uvlock

import "github.com/hpcenv/hpcenv/envs/python/marker"

// link finds the entry that each dependency means.
func (l *Lock) link(r *reader) {
	for _, e := range l.entries {
		for _, other := range l.byName[e.name] {
			if other == e {
				break
			}
			if other.version == e.version && other.source == e.source {
				r.Failf(e.line, "package `%s` %s is there twice (line %d)", e.name, e.version, other.line)
			}
		}
		lists := [][]dependency{e.dependencies}
		for _, s := range e.extras {
			lists = append(lists, s.dependencies)
		}
		for _, s := range e.groups {
			lists = append(lists, s.dependencies)
		}
		for _, list := range lists {
			for i := range list {
				l.linkOne(r, e, &list[i])
			}
		}
	}
}

func (l *Lock) linkOne(r *reader, e *entry, d *dependency) {
	matches := 0
	for _, c := range l.byName[d.name] {
		if (d.version == "" || d.version == c.version) && (d.source == nil || *d.source == c.source) {
			d.to = c
			matches++
		}
	}
	switch {
	case matches == 0:
		r.Failf(d.line, "package `%s` depends on `%s` %s, which the lock does not have", e.name, d.name, d.version)
	case matches > 1:
		r.Failf(d.line, "package `%s` depends on `%s`, of which the lock has %d and it says not which", e.name, d.name, matches)
	}
}

// find returns the entry of a name in the fork that holds for env; nil if the
// lock has none.
func (l *Lock) find(name string, env *marker.Environment) (*entry, error) {
	for _, e := range l.byName[name] {
		holds, err := anyHolds(e.forks, env)
		if err != nil {
			return nil, err
		}
		if holds {
			return e, nil
		}
	}
	return nil, nil
}

// anyHolds: one of the markers holds, or there is none.
func anyHolds(markers []*marker.Marker, env *marker.Environment) (bool, error) {
	for _, m := range markers {
		holds, err := m.Evaluate(env)
		if err != nil || holds {
			return holds, err
		}
	}
	return len(markers) == 0, nil
}
