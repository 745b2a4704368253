package uvlock

import (
	"maps"
	"slices"

	"github.com/hpcenv/hpcenv/envs/python/marker"
)

// key is what a dependency names an entry by; version and source may be left
// out where the rest says it.
type key struct {
	name, version string
	source        source
}

// meant is the entry that a key means, and how many it could mean.
type meant struct {
	*entry
	count int
}

// link finds the entry that each dependency means.
func (l *Lock) link(r *reader) {
	index := make(map[key]meant, 4*len(l.entries))
	for _, e := range l.entries {
		whole := key{e.name, e.version, e.source}
		if other := index[whole]; other.entry != nil && e.version != "" {
			r.Failf(e.line, "package `%s` %s is there twice (line %d)", e.name, e.version, other.line)
		}
		keys := []key{whole, {name: e.name}, {name: e.name, source: e.source}}
		if e.version != "" {
			keys = append(keys, key{name: e.name, version: e.version})
		}
		for _, k := range keys {
			index[k] = meant{e, index[k].count + 1}
		}
	}
	for _, e := range l.entries {
		r.linkAll(index, e, e.dependencies)
		for _, all := range []sections{e.extras, e.groups} {
			for _, n := range slices.Sorted(maps.Keys(all)) { // of several errors always the same
				r.linkAll(index, e, all[n])
			}
		}
	}
}

func (r *reader) linkAll(index map[key]meant, e *entry, list []dependency) {
	for i := range list {
		d := &list[i]
		k := key{name: d.name, version: d.version}
		if d.source != nil {
			k.source = *d.source
		}
		found := index[k]
		switch d.to = found.entry; {
		case found.count == 0:
			r.Failf(d.line, "package `%s` depends on `%s` %s, which the lock does not have", e.name, d.name, d.version)
		case found.count > 1:
			r.Failf(d.line, "package `%s` depends on `%s`, of which the lock has %d and it says not which", e.name, d.name, found.count)
		}
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
