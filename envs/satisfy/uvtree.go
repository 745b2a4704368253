package satisfy

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/pyproject"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// dynamicRevision is the first revision of a lock that has no version of a project
// whose version is dynamic, and that lists extras.
const dynamicRevision = 1

// tree compares a project that lies in a directory with its manifest.
func (c *uvChecker) tree(t *uvTree, m *pyproject.Project) {
	file := filepath.ToSlash(filepath.Join(filepath.FromSlash(t.dir), manifestName))
	if m.Name != t.name {
		if m.Name != "" {
			c.add(file, m.Line, "the project is called %s, and %s in the lock", m.Name, t.name)
		}
		return
	}
	c.version(file, t, m)
	c.virtual(file, t, m)
	sources := c.sources(t, m)
	if m.Known("dependencies") && m.Known("optional-dependencies") {
		wanted, locked := declared(m.Requirements, sources.loose), demands(t.requires, sources.loose)
		d, asks, sure := closest(wanted, locked, t.name, c.lock.requiresPython)
		c.report(t.name, file, d, sure, asks, locked)
		if extras := canonicalNames(m.Extras); c.lock.revision >= dynamicRevision && !slices.Equal(extras, t.extras) {
			c.extras(file, t, extras)
		}
	}
	c.groups(file, " of "+t.name, m, t.groups, sources.loose)
	for _, s := range sources.known {
		c.source(file, t, s)
	}
}

func (c *uvChecker) version(file string, t *uvTree, m *pyproject.Project) {
	have, err := version.Parse(m.Version)
	switch {
	case m.Dynamic("version"):
		if t.version != "" && c.lock.revision >= dynamicRevision {
			c.add(file, m.Line, "the version of %s is dynamic, and %s in the lock", t.name, t.version)
		}
	case !m.Known("version") || err != nil:
	case t.version == "":
		c.add(file, m.VersionLine, "the version of %s is %s, and dynamic in the lock", t.name, m.Version)
	default:
		if locked, err := version.Parse(t.version); err == nil && locked.Compare(have) != 0 {
			c.add(file, m.VersionLine, "the version of %s is %s, and %s in the lock", t.name, m.Version, t.version)
		}
	}
}

// virtual compares whether the project of a workspace without other members is built
// and installed.
func (c *uvChecker) virtual(file string, t *uvTree, m *pyproject.Project) {
	if !t.root() || len(c.lock.members) > 0 || m.UV.Get("sources", t.name) != nil {
		return
	}
	is := m.BuildSystem
	if v := m.UV.Get("package"); v != nil {
		is = v.Text == "true"
	}
	if is == (t.kind == "virtual") {
		what := map[bool]string{true: "a package", false: "no package (there is no [build-system], or tool.uv.package says so)"}
		c.add(file, m.Line, "%s is %s, and in the lock it is %s", t.name, what[is], t.kind)
	}
}

func (t *uvTree) root() bool { return t.dir == "." || t.dir == "" }

func (c *uvChecker) extras(file string, t *uvTree, extras []string) {
	for _, e := range extras {
		if !slices.Contains(t.extras, e) {
			c.add(file, 0, "%s has the extra %s, the lock has not", t.name, e)
		}
	}
	for _, e := range t.extras {
		if !slices.Contains(extras, e) {
			c.add(file, 0, "the lock has the extra %s of %s, the manifest has not", e, t.name)
		}
	}
}

// provenance is what is known of [tool.uv.sources] for one project.
type provenance struct {
	loose func(string) bool
	// known are sources that hold without a condition.
	known []uvSource
}

// uvSource is where a manifest says that a package comes from.
type uvSource struct {
	name  string
	table *tomltree.Value
	// file of the manifest that says so, "" = the project's own.
	file string
}

// sources of a project: its own and, for a member, those of the workspace.
func (c *uvChecker) sources(t *uvTree, m *pyproject.Project) provenance {
	if !c.lock.member(t) || m.UV.Get("no-sources") != nil || c.root.UV.Get("no-sources") != nil ||
		m.UV.Get("no-sources-package") != nil || c.root.UV.Get("no-sources-package") != nil {
		// It may be of another workspace: whatever has a source in the lock has one.
		sourced := map[string]bool{}
		for _, list := range append([][]uvRequirement{t.requires}, lists(t.groups)...) {
			for _, u := range list {
				sourced[u.name] = sourced[u.name] || u.source != ""
			}
		}
		return provenance{loose: func(n string) bool { return sourced[n] || m.UV.Get("sources") != nil }}
	}
	var out provenance
	seen := map[string]bool{}
	read := func(table *tomltree.Value, file string) {
		if table == nil || table.Kind != tomltree.Table {
			return
		}
		for _, e := range table.Entries {
			n := name.Normalize(e.Key)
			if seen[n] {
				continue // the project's own count more
			}
			seen[n] = true
			if v := e.Value; v.Kind == tomltree.Table && v.Get("marker") == nil && v.Get("extra") == nil && v.Get("group") == nil {
				out.known = append(out.known, uvSource{n, v, file})
			}
		}
	}
	read(m.UV.Get("sources"), "")
	if m != c.root {
		read(c.root.UV.Get("sources"), manifestName)
	}
	out.loose = func(n string) bool { return seen[n] }
	return out
}

func lists(groups map[string][]uvRequirement) (out [][]uvRequirement) {
	for _, list := range groups {
		out = append(out, list)
	}
	return out
}

// kinds of sources that a lock may have for a key of [tool.uv.sources].
var kinds = map[string][]string{
	"git": {"git"}, "url": {"url"}, "path": append([]string{"path"}, treeSources...), "workspace": treeSources, "index": {""},
}

// source compares where one package comes from.
func (c *uvChecker) source(file string, t *uvTree, s uvSource) {
	if s.name == t.name {
		return
	}
	if s.file != "" {
		file = s.file
	}
	key := ""
	for k := range kinds {
		if s.table.Get(k) != nil {
			if key != "" {
				return
			}
			key = k
		}
	}
	if key == "" {
		return
	}
	for _, list := range append([][]uvRequirement{t.requires}, lists(t.groups)...) {
		for _, u := range list {
			if u.name != s.name {
				continue
			}
			if !slices.Contains(kinds[key], u.source) {
				c.add(file, s.table.Line, "%s comes from `%s` in tool.uv.sources, and from %s in the lock", s.name, key, sourceText(u.source))
			} else if key == "git" {
				c.git(file, s, u)
			}
		}
	}
}

func sourceText(source string) string {
	if source == "" {
		return "an index"
	}
	return "`" + source + "`"
}

// git compares what is asked of a repository.
func (c *uvChecker) git(file string, s uvSource, u uvRequirement) {
	_, query, _ := strings.Cut(u.place, "?")
	query, _, _ = strings.Cut(query, "#")
	for _, key := range []string{"rev", "tag", "branch"} {
		want := ""
		if v := s.table.Get(key); v != nil {
			want = v.Text
		}
		have := ""
		for pair := range strings.SplitSeq(query, "&") {
			if rest, ok := strings.CutPrefix(pair, key+"="); ok {
				if text, err := url.QueryUnescape(rest); err == nil {
					have = text
				}
			}
		}
		if want != have {
			c.add(file, s.table.Line, "%s is asked for at %s %q, and the lock was made for %q", s.name, key, want, have)
			return
		}
	}
}
