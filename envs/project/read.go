package project

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/tomltree"
	"github.com/hpcenv/hpcenv/internal/nearest"
)

type node = tomltree.Value

// manifest reads a tree and keeps the first thing that was wrong.
type manifest struct {
	file string
	// root is the table that pixi.toml is, or [tool.pixi].
	root *node
	// tool is [tool.hpcenv]; pyproject the whole pyproject.toml; nil = not there.
	tool, pyproject *node
	err             error
}

func (m *manifest) failf(line int32, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: %s:%d: %s", ErrManifest, m.file, line, fmt.Sprintf(format, args...))
	}
}

// is checks a kind; false if absent (no error) or wrong.
func (m *manifest) is(key string, v *node, want tomltree.Kind) bool {
	if v == nil {
		return false
	}
	if v.Kind != want {
		m.failf(v.Line, "`%s` must be %s, it is %s", key, want, v.Kind)
		return false
	}
	return true
}

func (m *manifest) text(key string, v *node) string {
	if !m.is(key, v, tomltree.String) {
		return ""
	}
	return v.Text
}

// entries of a table; none if it is absent or of another kind.
func (m *manifest) entries(key string, v *node) []tomltree.Entry {
	if !m.is(key, v, tomltree.Table) {
		return nil
	}
	return v.Entries
}

func (m *manifest) list(key string, v *node) []*node {
	if !m.is(key, v, tomltree.Array) {
		return nil
	}
	return v.Items
}

// texts is not nil for an array that is there.
func (m *manifest) texts(key string, v *node) []string {
	if !m.is(key, v, tomltree.Array) {
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		if m.is("each of "+key, item, tomltree.String) {
			out = append(out, item.Text)
		}
	}
	return out
}

func (m *manifest) yes(key string, v *node) bool {
	return m.is(key, v, tomltree.Bool) && v.Text == "true"
}

func (m *manifest) read(root string) (*Project, error) {
	p := &Project{Root: root, File: m.file, features: map[string]*feature{}, environments: map[string]*environment{}}
	workspace := m.root.Get("workspace")
	if workspace == nil {
		workspace = m.root.Get("project")
	}
	m.is("workspace", workspace, tomltree.Table)
	p.Package = workspace == nil && m.root.Get("package") != nil
	p.Name = m.first("name", workspace, m.pyproject.Get("project"), m.root.Get("package"))
	p.Version = m.first("version", workspace, m.pyproject.Get("project"), m.root.Get("package"))
	if p.Name == "" {
		p.Name = filepath.Base(root)
	}
	p.platforms = m.readPlatforms(workspace.Get("platforms"))
	p.channels = m.readChannels(workspace.Get("channels"))

	p.features[defaultName] = m.readFeature(m.root, nil)
	p.features[defaultName].pypi.join(m.readPyPIOptions(workspace.Get("pypi-options")))
	for _, f := range m.entries("feature", m.root.Get("feature")) {
		if m.is("feature."+f.Key, f.Value, tomltree.Table) {
			p.features[f.Key] = m.readFeature(f.Value, f.Value.Get("platforms"))
		}
	}
	m.readPyproject(p)
	p.environments[defaultName] = &environment{}
	for _, e := range m.entries("environments", m.root.Get("environments")) {
		p.environments[e.Key] = m.readEnvironment(e.Key, e.Value, p.features)
	}
	m.readTool(p)
	if m.err != nil {
		return nil, m.err
	}
	return p, nil
}

// readTool reads [tool.hpcenv].
func (m *manifest) readTool(p *Project) {
	list := m.tool.Get("environments")
	p.Preferred = m.texts("tool.hpcenv.environments", list)
	for i, name := range p.Preferred {
		if m.err != nil {
			return // not all are texts
		}
		line := list.Items[i].Line
		switch {
		case p.environments[name] == nil:
			m.failf(line, "`tool.hpcenv.environments` names %q, and there is no such environment; there are %s; the nearest is %s", name, strings.Join(p.Environments(), ", "), nearest.Of(name, p.Environments()))
		case slices.Contains(p.Preferred[:i], name):
			m.failf(line, "`tool.hpcenv.environments` names %q twice", name)
		}
	}
}

// first returns a text key of the first table that has it as a text (a package
// may inherit it from its workspace by a table).
func (m *manifest) first(key string, tables ...*node) string {
	for _, t := range tables {
		if v := t.Get(key); v != nil && v.Kind == tomltree.String {
			return v.Text
		}
	}
	return ""
}

func (m *manifest) readFeature(v, platforms *node) *feature {
	f := &feature{platforms: m.texts("platforms", platforms), base: m.readTables("", v),
		system: m.readSystem(v.Get("system-requirements")), pypi: m.readPyPIOptions(v.Get("pypi-options"))}
	if v != m.root { // of the root, they are the workspace's
		f.channels = m.readChannels(v.Get("channels"))
	}
	for _, t := range m.entries("target", v.Get("target")) {
		if key := "target." + t.Key; m.is(key, t.Value, tomltree.Table) {
			f.targets = append(f.targets, target{t.Key, m.readTables(key+".", t.Value)})
		}
	}
	return f
}

func (m *manifest) readTables(under string, v *node) tables {
	return tables{
		activation: m.readActivation(under+"activation", v.Get("activation")),
		conda:      m.readConda(under, v),
		python:     m.readPython(under+"pypi-dependencies", v.Get("pypi-dependencies")),
		tasks:      m.readTasks(under+"tasks", v.Get("tasks")),
	}
}

func (m *manifest) readActivation(key string, v *node) activationTable {
	var a activationTable
	if !m.is(key, v, tomltree.Table) {
		return a
	}
	a.line = v.Line
	if scripts := v.Get("scripts"); scripts != nil {
		a.scripts, a.hasScripts, a.line = m.texts(key+".scripts", scripts), true, scripts.Line
	}
	if env := v.Get("env"); env != nil {
		a.env = make(map[string]string, len(env.Entries))
		for _, e := range m.entries(key+".env", env) {
			a.env[e.Key] = m.text(key+".env."+e.Key, e.Value)
		}
	}
	return a
}

func (m *manifest) readEnvironment(name string, v *node, features map[string]*feature) *environment {
	e := &environment{line: v.Line}
	list := v
	if v.Kind == tomltree.Table {
		list = v.Get("features")
		e.noDefault = m.yes("no-default-feature", v.Get("no-default-feature"))
		e.solveGroup = m.text("solve-group", v.Get("solve-group"))
		e.inline = m.readFeature(v, v.Get("platforms"))
		e.inline.inline = true
	}
	e.features = m.texts("environments."+name, list)
	for _, f := range e.features {
		if features[f] == nil {
			m.failf(list.Line, "environment %q has the feature %q, which is not declared", name, f)
		}
	}
	return e
}
