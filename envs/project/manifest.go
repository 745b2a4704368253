package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxManifest bounds the bytes of a manifest.
const maxManifest = 4 << 20

// Project is the part of a manifest that activation needs.
type Project struct {
	// Root is the absolute directory of the manifest, File its absolute path.
	Root, File string
	// Name of the workspace; without one, that of its directory, as in pixi.
	Name string
	// Version of the workspace; "" = none.
	Version string

	platforms    []platform
	features     map[string]*feature
	environments map[string]*environment
}

// defaultName is the name of the feature and of the environment that are always
// there.
const defaultName = "default"

// feature is [feature.X], the top level (default), or what an environment has
// inline.
type feature struct {
	// platforms that it is limited to, names or subdirs; nil = all.
	platforms []string
	base      activationTable
	// targets in the manifest's order: of those that match, the last wins.
	targets []target
}

type target struct {
	selector string
	activationTable
}

// activationTable is one [activation].
type activationTable struct {
	env map[string]string
	// scripts as written; hasScripts tells none from an empty list, which
	// replaces a longer one.
	scripts    []string
	hasScripts bool
	line       int
}

type environment struct {
	features  []string
	noDefault bool
	inline    *feature // nil = none
	line      int
}

// Load reads the manifest in a directory: pixi.toml, else [tool.pixi] of
// pyproject.toml, else mojoproject.toml, as pixi does. A directory without one
// is no error: nil, nil (a lock can be used without its project). Errors wrap
// ErrManifest and name the file and, where it is about content, the line.
func Load(dir string) (*Project, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the project directory %s: %w", dir, err)
	}
	for _, name := range [...]string{"pixi.toml", "pyproject.toml", "mojoproject.toml"} {
		file := filepath.Join(root, name)
		data, err := readBounded(file, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrManifest, file, err)
		}
		tree, err := parseTOML(file, data)
		if err != nil {
			return nil, err
		}
		m := &manifest{file: file, root: tree}
		if name == "pyproject.toml" {
			if m.root = tree.get("tool", "pixi"); m.root == nil {
				continue // some other tool's
			}
			m.pyproject = tree
		}
		return m.read(root)
	}
	return nil, nil
}

// readBounded reads a regular file of at most limit bytes. Anything else (a
// pipe would hang, a device never ends) is refused.
func readBounded(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, nil
}

// manifest reads a tree and keeps the first thing that was wrong.
type manifest struct {
	file string
	// root is the table that pixi.toml is, or [tool.pixi].
	root *node
	// pyproject is the whole pyproject.toml; nil in other manifests.
	pyproject *node
	err       error
}

func (m *manifest) failf(line int, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: %s:%d: %s", ErrManifest, m.file, line, fmt.Sprintf(format, args...))
	}
}

// is checks a kind; false if absent (no error) or wrong.
func (m *manifest) is(key string, v *node, want kind) bool {
	if v == nil {
		return false
	}
	if v.kind != want {
		m.failf(v.line, "`%s` must be %s, it is %s", key, want, v.kind)
		return false
	}
	return true
}

func (m *manifest) text(key string, v *node) string {
	if !m.is(key, v, text) {
		return ""
	}
	return v.text
}

func (m *manifest) list(key string, v *node) []*node {
	if !m.is(key, v, array) {
		return nil
	}
	return v.items
}

// texts is not nil for an array that is there.
func (m *manifest) texts(key string, v *node) []string {
	if !m.is(key, v, array) {
		return nil
	}
	out := make([]string, 0, len(v.items))
	for _, item := range v.items {
		if m.is("each of "+key, item, text) {
			out = append(out, item.text)
		}
	}
	return out
}

func (m *manifest) read(root string) (*Project, error) {
	p := &Project{Root: root, File: m.file, features: map[string]*feature{}, environments: map[string]*environment{}}
	workspace := m.root.get("workspace")
	if workspace == nil {
		workspace = m.root.get("project")
	}
	m.is("workspace", workspace, table)
	p.Name = m.first("name", workspace, m.pyproject.get("project"), m.root.get("package"))
	p.Version = m.first("version", workspace, m.pyproject.get("project"), m.root.get("package"))
	if p.Name == "" {
		p.Name = filepath.Base(root)
	}
	p.platforms = m.readPlatforms(workspace.get("platforms"))

	p.features[defaultName] = m.readFeature(m.root, nil)
	features := m.root.get("feature")
	if m.is("feature", features, table) {
		for _, name := range features.names {
			v := features.fields[name]
			if m.is("feature."+name, v, table) {
				p.features[name] = m.readFeature(v, v.get("platforms"))
			}
		}
	}
	for _, name := range m.groups() {
		if p.features[name] == nil {
			p.features[name] = &feature{}
		}
	}
	p.environments[defaultName] = &environment{}
	environments := m.root.get("environments")
	if m.is("environments", environments, table) {
		for _, name := range environments.names {
			p.environments[name] = m.readEnvironment(name, environments.fields[name], p.features)
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	return p, nil
}

// first returns a text key of the first table that has it as a text (a package
// may inherit it from its workspace by a table).
func (m *manifest) first(key string, tables ...*node) string {
	for _, t := range tables {
		if v := t.get(key); v != nil && v.kind == text {
			return v.text
		}
	}
	return ""
}

// groups are the features that pyproject.toml implies: its optional
// dependencies and dependency groups.
func (m *manifest) groups() []string {
	var names []string
	for _, t := range []*node{m.pyproject.get("project", "optional-dependencies"), m.pyproject.get("dependency-groups")} {
		if t == nil || t.kind != table {
			continue
		}
		for _, name := range t.names {
			names = append(names, name, strings.ReplaceAll(name, "_", "-"))
		}
	}
	return names
}

func (m *manifest) readFeature(v, platforms *node) *feature {
	f := &feature{platforms: m.texts("platforms", platforms), base: m.readActivation("activation", v.get("activation"))}
	targets := v.get("target")
	if !m.is("target", targets, table) {
		return f
	}
	for _, selector := range targets.names {
		key := "target." + selector
		if t := targets.fields[selector]; m.is(key, t, table) && t.get("activation") != nil {
			f.targets = append(f.targets, target{selector, m.readActivation(key+".activation", t.get("activation"))})
		}
	}
	return f
}

func (m *manifest) readActivation(key string, v *node) activationTable {
	var a activationTable
	if !m.is(key, v, table) {
		return a
	}
	a.line = v.line
	if scripts := v.get("scripts"); scripts != nil {
		a.scripts, a.hasScripts, a.line = m.texts(key+".scripts", scripts), true, scripts.line
	}
	if env := v.get("env"); m.is(key+".env", env, table) {
		a.env = make(map[string]string, len(env.names))
		for _, name := range env.names {
			a.env[name] = m.text(key+".env."+name, env.fields[name])
		}
	}
	return a
}

func (m *manifest) readEnvironment(name string, v *node, features map[string]*feature) *environment {
	e := &environment{line: v.line}
	list := v
	if v.kind == table {
		list = v.get("features")
		if b := v.get("no-default-feature"); m.is("no-default-feature", b, boolean) {
			e.noDefault = b.text == "true"
		}
		e.inline = m.readFeature(v, v.get("platforms"))
	}
	e.features = m.texts("environments."+name, list)
	for _, f := range e.features {
		if features[f] == nil {
			m.failf(list.line, "environment %q has the feature %q, which is not declared", name, f)
		}
	}
	return e
}
