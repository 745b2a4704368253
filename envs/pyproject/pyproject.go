package pyproject

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// ErrPyproject is the class of errors about the content of a pyproject.toml.
var ErrPyproject = errors.New("pyproject.toml cannot be used")

// Project is what a pyproject.toml declares.
type Project struct {
	// Named: it has a [project] table. Name is normalized, "" without one; Line is
	// that of the name.
	Named bool
	Name  string
	Line  int32
	// Version as written; "" = none, or dynamic.
	Version     string
	VersionLine int32
	// RequiresPython is nil where it is not declared.
	RequiresPython version.Set
	PythonLine     int32
	// BuildSystem: it has a [build-system] table.
	BuildSystem bool

	// Requirements are its dependencies and those of its extras, in the file's order.
	Requirements []Requirement
	// Extras, normalized.
	Extras []string
	// Groups are its dependency groups by normalized names, with what they include.
	Groups map[string][]Requirement
	// Vague names keys of which something was not understood, so that what they
	// declare is not known: "dependencies", "optional-dependencies",
	// "requires-python", "dependency-groups", "version".
	Vague []string

	// UV is [tool.uv]; nil = not there.
	UV *tomltree.Value

	dynamic []string
	// included counts the groups that were read.
	included int
}

// Requirement is one requirement of a project.
type Requirement struct {
	*requirement.Requirement
	// Extra (normalized) that asks for it; "" = none.
	Extra string
	Line  int32
}

// Parse reads a pyproject.toml. The error wraps ErrPyproject and names the line;
// only what is no TOML is one.
func Parse(data []byte) (*Project, error) {
	root, err := tomltree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPyproject, err)
	}
	p := &Project{Groups: map[string][]Requirement{}, BuildSystem: root.Get("build-system") != nil, UV: root.Get("tool", "uv")}
	if table := root.Get("project"); table != nil && table.Kind == tomltree.Table {
		p.project(table)
	}
	p.groups(root)
	return p, nil
}

// Dynamic tells that the build of the project says what a key of [project] is.
func (p *Project) Dynamic(key string) bool { return slices.Contains(p.dynamic, key) }

// Known tells that what a key declares is all there is: neither dynamic nor vague.
func (p *Project) Known(key string) bool {
	return !p.Dynamic(key) && !slices.Contains(p.Vague, key)
}

func (p *Project) vague(key string) {
	if !slices.Contains(p.Vague, key) {
		p.Vague = append(p.Vague, key)
	}
}

func (p *Project) project(table *tomltree.Value) {
	p.Named, p.Line = true, table.Line
	if v := table.Get("name"); v != nil && v.Kind == tomltree.String {
		p.Name, p.Line = name.Normalize(v.Text), v.Line
	}
	if v := table.Get("version"); v != nil && v.Kind == tomltree.String {
		p.Version, p.VersionLine = v.Text, v.Line
	} else if v != nil {
		p.vague("version")
	}
	p.dynamic = texts(table.Get("dynamic"))
	if v := table.Get("requires-python"); v != nil {
		set, err := version.ParseSet(v.Text)
		if v.Kind != tomltree.String || err != nil {
			p.vague("requires-python")
		} else if p.RequiresPython, p.PythonLine = set, v.Line; set == nil {
			p.RequiresPython = version.Set{}
		}
	}
	p.Requirements = p.list("dependencies", table.Get("dependencies"), "")
	extras := table.Get("optional-dependencies")
	if extras == nil {
		return
	}
	if extras.Kind != tomltree.Table {
		p.vague("optional-dependencies")
		return
	}
	for _, e := range extras.Entries {
		extra := name.Normalize(e.Key)
		p.Extras = append(p.Extras, extra)
		p.Requirements = append(p.Requirements, p.list("optional-dependencies", e.Value, extra)...)
	}
}

// list reads requirements; nil is an empty list.
func (p *Project) list(key string, v *tomltree.Value, extra string) []Requirement {
	if v == nil {
		return nil
	}
	if v.Kind != tomltree.Array {
		p.vague(key)
		return nil
	}
	var out []Requirement
	for _, item := range v.Items {
		if r, ok := p.one(key, item); ok {
			r.Extra = extra
			out = append(out, r)
		}
	}
	return out
}

func (p *Project) one(key string, item *tomltree.Value) (Requirement, bool) {
	if item.Kind == tomltree.String {
		if r, err := requirement.Parse(item.Text); err == nil {
			return Requirement{Requirement: r, Line: item.Line}, true
		}
	}
	p.vague(key)
	return Requirement{}, false
}

// List reads a list of requirements of a table such as [tool.uv]; ok is false where
// one of them is not understood.
func List(table *tomltree.Value, key string) (list []Requirement, ok bool) {
	var p Project
	list = p.list(key, table.Get(key), "")
	return list, p.Vague == nil
}

// texts of an array, as far as they are some.
func texts(v *tomltree.Value) []string {
	if v == nil || v.Kind != tomltree.Array {
		return nil
	}
	var out []string
	for _, item := range v.Items {
		if item.Kind == tomltree.String {
			out = append(out, item.Text)
		}
	}
	return out
}
