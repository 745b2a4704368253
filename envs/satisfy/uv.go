package satisfy

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/envs/pyproject"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// manifestName is what the manifest of a Python project is called.
const manifestName = "pyproject.toml"

// manifestLists are lists of requirements of a workspace, as the lock has them; in
// [tool.uv] each has the name of manifestKeys.
var manifestLists = []string{"overrides", "constraints", "build-constraints"}

var manifestKeys = map[string]string{"overrides": "override-dependencies", "constraints": "constraint-dependencies", "build-constraints": "build-constraint-dependencies"}

// uvChecker collects reasons.
type uvChecker struct {
	*manifests
	lock    *uvLocked
	root    *pyproject.Project
	reasons []string
}

func (c *uvChecker) add(file string, line int32, format string, args ...any) {
	text := reason{fmt.Sprintf(format, args...), line}.in(file)
	if !slices.Contains(c.reasons, text) {
		c.reasons = append(c.reasons, text)
	}
}

// CheckUV returns why a uv.lock (its bytes, and the directory in which it lies) is not
// what uv would make of the manifests there, one reason each; nil if it is, or if there
// is no pyproject.toml beside it. Errors wrap project.ErrManifest or lockfile.ErrLock.
func CheckUV(dir string, data []byte) ([]string, error) {
	return checkUV(newManifests(dir), data)
}

func checkUV(m *manifests, data []byte) ([]string, error) {
	root, err := m.load(".")
	if root == nil || err != nil {
		return nil, err
	}
	if managed := root.UV.Get("managed"); managed != nil && managed.Text == "false" {
		return nil, nil // uv leaves the project alone
	}
	lock, err := readUV(data)
	if err != nil {
		return nil, err
	}
	c := &uvChecker{manifests: m, lock: lock, root: root}
	members, err := c.members()
	if err != nil {
		return nil, err
	}
	c.pythons(members)
	c.workspace()
	for _, t := range lock.trees {
		m, err := c.load(filepath.FromSlash(t.dir))
		if err != nil {
			return nil, err
		}
		if m != nil && m.Named {
			c.tree(t, m)
		}
	}
	return c.reasons, nil
}

// members finds the projects of the workspace and compares their names. nil: they are
// not known.
func (c *uvChecker) members() ([]*pyproject.Project, error) {
	var all []*pyproject.Project
	if c.root.Named {
		all = append(all, c.root)
	}
	workspace := c.root.UV.Get("workspace")
	dirs, ok := c.memberDirs(workspace)
	if !ok {
		return nil, nil
	}
	for _, dir := range dirs {
		m, err := c.load(dir)
		if err != nil {
			return nil, err
		}
		switch {
		case m == nil:
			continue
		case !m.Named || m.Name == "":
			return nil, nil
		}
		if managed := m.UV.Get("managed"); managed != nil && managed.Text == "false" {
			continue
		}
		all = append(all, m)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	if len(all) == 1 && c.root.Named {
		names = nil // a single project is not listed
	}
	for _, n := range names {
		if !slices.Contains(c.lock.members, n) {
			c.add(manifestName, lineOf(workspace), "the workspace has the member %s, the lock has not", n)
		}
	}
	for _, n := range c.lock.members {
		if !slices.Contains(names, n) {
			c.add(manifestName, lineOf(workspace), "the lock has the member %s, the workspace has not", n)
		}
	}
	if names == nil && c.root.Named && !slices.ContainsFunc(c.lock.trees, func(t *uvTree) bool { return t.name == c.root.Name }) {
		c.add(manifestName, c.root.Line, "the project %s is not in the lock", c.root.Name)
	}
	return all, nil
}

func lineOf(v *tomltree.Value) int32 {
	if v == nil {
		return 0
	}
	return v.Line
}

// pythons compares which Pythons the members take with which the lock was made for.
// As for uv only bounds count.
func (c *uvChecker) pythons(members []*pyproject.Project) {
	var wanted version.Set
	var first *pyproject.Project
	for _, m := range members {
		if !m.Known("requires-python") || groupPythons(m) {
			return
		}
		if m.RequiresPython != nil && first == nil {
			first = m
		}
		for _, s := range m.RequiresPython {
			if !slices.ContainsFunc(wanted, func(o version.Specifier) bool { return o.String() == s.String() }) {
				wanted = append(wanted, s)
			}
		}
	}
	if first == nil {
		return // uv takes that of its own Python
	}
	wanted, locked := bounds(wanted), bounds(c.lock.requiresPython)
	if wanted == nil || locked == nil {
		return
	}
	for _, text := range versionsOf("python "+wanted.String()+" "+locked.String(), nil) {
		v, err := version.Parse(text)
		if err == nil && wanted.Contains(v) != locked.Contains(v) {
			var line int32
			if first == c.root {
				line = first.PythonLine
			}
			c.add(manifestName, line, "requires-python is %s in the manifest, and the lock was made for %s", wanted, c.lock.requiresPython)
			return
		}
	}
}

// groupPythons: groups take other Pythons than the project.
func groupPythons(p *pyproject.Project) bool { return p.UV.Get("dependency-groups") != nil }

// bounds are the clauses of a set that bound it; nil where there are none, or where
// one is of no known form.
func bounds(set version.Set) version.Set {
	var out version.Set
	for _, s := range set {
		switch {
		case s.Op == version.NotEqual:
		case s.Op == version.Identical, s.Version.IsPrerelease(), s.Version.IsPostrelease():
			return nil
		default:
			out = append(out, s)
		}
	}
	return out
}

// workspace compares what the root says for all members.
func (c *uvChecker) workspace() {
	uv := c.root.UV
	sourced := map[string]bool{}
	if v := uv.Get("sources"); v != nil {
		for _, e := range v.Entries {
			sourced[name.Normalize(e.Key)] = true
		}
	}
	loose := func(n string) bool { return sourced[n] }
	for _, key := range manifestLists {
		list, ok := pyproject.List(uv, manifestKeys[key])
		if !ok {
			continue
		}
		wanted, locked := declared(list, loose), demands(c.lock.lists[key], loose)
		if key != "build-constraints" {
			// What is said of packages that are not in the lock changes nothing.
			idle := func(d *demand) bool { return !c.lock.names[d.name] }
			wanted, locked = slices.DeleteFunc(wanted, idle), slices.DeleteFunc(locked, idle)
		}
		c.compare("tool.uv."+manifestKeys[key], manifestName, wanted, locked)
	}
	if list := uv.Get("exclude-dependencies"); list != nil && list.Kind == tomltree.Array {
		for _, item := range list.Items {
			if n := name.Normalize(item.Text); c.lock.names[n] && !slices.Contains(c.lock.excluded, n) {
				c.add(manifestName, item.Line, "tool.uv.exclude-dependencies leaves out %s, which is locked", n)
			}
		}
	}
	c.options()
	if !c.root.Named {
		c.groups(manifestName, "", c.root, c.lock.groups, loose)
	}
}

// uvOptions are settings of the resolver that a lock records: in [tool.uv], in
// [options] of the lock, and what it is where the lock does not say.
var uvOptions = []struct{ key, locked, standard string }{
	{"resolution", "resolution-mode", "highest"}, {"prerelease", "prerelease-mode", "if-necessary-or-explicit"},
}

// options compares those that the manifest sets; others may be set elsewhere, and a
// uv.toml beside the manifest counts instead of it.
func (c *uvChecker) options() {
	if _, err := os.Lstat(filepath.Join(c.dir, "uv.toml")); err == nil {
		return
	}
	for _, o := range uvOptions {
		v := c.root.UV.Get(o.key)
		if have := cmp.Or(c.lock.options[o.locked], o.standard); v != nil && v.Text != have {
			c.add(manifestName, v.Line, "tool.uv.%s is %s, and the lock was made with %s", o.key, v.Text, have)
		}
	}
}

// compare adds what differs.
func (c *uvChecker) compare(by, file string, wanted, locked []*demand) {
	d, sure := compared(wanted, locked, c.lock.requiresPython)
	c.report(by, file, d, sure, wanted, locked)
}

func (c *uvChecker) report(by, file string, d difference, sure bool, wanted, locked []*demand) {
	if !sure {
		return
	}
	for _, r := range d.words(by, wanted, locked) {
		c.add(file, r.line, "%s", r.text)
	}
}

// groups compares dependency groups; of says whose they are.
func (c *uvChecker) groups(file, of string, m *pyproject.Project, locked map[string][]uvRequirement, loose func(string) bool) {
	if !m.Known("dependency-groups") || groupPythons(m) {
		return
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(m.Groups)), maps.Keys(locked))
	slices.Sort(names)
	for _, g := range slices.Compact(names) {
		c.compare("the group "+g+of, file, declared(m.Groups[g], loose), demands(locked[g], loose))
	}
}
