package satisfy

import (
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/pyproject"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// trees compares what is recorded of local source trees with their pyproject.toml, as
// far as that says it.
func (c *platformCheck) trees() error {
	for _, t := range lockfile.SourceTrees(c.locked) {
		dir, err := t.Dir(c.p.Root)
		if err != nil {
			continue // who uses it says what is wrong
		}
		if rel, err := filepath.Rel(c.p.Root, dir); err == nil {
			dir = rel
		}
		m, err := c.manifests.load(dir)
		if err != nil {
			return err
		}
		if m == nil || !m.Named || m.Name != name.Normalize(t.Name) {
			continue
		}
		c.tree(t, m, filepath.ToSlash(filepath.Join(dir, manifestName)))
	}
	return nil
}

func (c *platformCheck) tree(t lockfile.SourceTree, m *pyproject.Project, file string) {
	say := func(r reason) { c.here(0, "%s", r.in(file)) }
	if have, err := version.Parse(m.Version); err == nil && m.Known("version") && t.Version != "" {
		if locked, err := version.Parse(t.Version); err == nil && locked.Compare(have) != 0 {
			say(reason{"the version of " + m.Name + " is " + m.Version + ", and " + t.Version + " in the lock", m.VersionLine})
		}
	}
	if set, err := version.ParseSet(t.RequiresPython); err == nil && m.Known("requires-python") && canonicalVersions(set) != canonicalVersions(m.RequiresPython) {
		say(reason{"requires-python of " + m.Name + " is `" + m.RequiresPython.String() + "`, and `" + t.RequiresPython + "` in the lock", m.PythonLine})
	}
	if !m.Known("dependencies") || !m.Known("optional-dependencies") {
		return
	}
	sourced := map[string]bool{}
	if v := m.UV.Get("sources"); v != nil {
		for _, e := range v.Entries {
			sourced[name.Normalize(e.Key)] = true
		}
	}
	loose := func(n string) bool { return sourced[n] }
	var locked []*demand
	for _, text := range t.RequiresDist {
		r, err := requirement.Parse(text)
		if err != nil {
			return
		}
		locked = append(locked, newDemand(r, loose))
	}
	wanted := declared(m.Requirements, loose)
	d, asks, sure := closest(wanted, locked, m.Name, nil)
	if !sure {
		return
	}
	for _, r := range d.words(m.Name, asks, locked) {
		say(r)
	}
}
