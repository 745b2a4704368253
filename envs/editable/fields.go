package editable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// field is a header of METADATA.
type field struct{ key, value string }

// fields are the headers after Name and Version, and the description after them.
type fields struct {
	headers     []field
	description string
}

// group is a group of entry points.
type group struct {
	name  string
	items []pair
}

// oneLine are characters that no header may hold.
const lineEnds = "\n\r\x00"

// add appends headers; "" is none.
func (r *reader) add(key string, values ...string) {
	for _, v := range values {
		if v == "" {
			continue
		}
		if key == "Summary" {
			v = strings.Join(strings.FieldsFunc(v, func(c rune) bool { return c == '\n' || c == '\r' }), " ")
		}
		if strings.ContainsAny(v, lineEnds) && r.err == nil {
			r.err = r.refuse(r.line("project"), "correct it", "the field %s would have several lines: %q", key, v)
		}
		r.out.metadata.headers = append(r.out.metadata.headers, field{key, v})
	}
}

// fields reads [project], or [tool.poetry] where there is none.
func (r *reader) fields() error {
	if r.root.Get("project") == nil {
		if r.root.Get("tool", "poetry", "name") != nil && r.out.Backend == "poetry-core" {
			return r.poetryFields()
		}
		where := "its pyproject.toml has no [project] table"
		if r.isFile("setup.py") || r.isFile("setup.cfg") {
			where += " (what setup.py and setup.cfg say is known only by running setuptools)"
		}
		return r.refuse(0, "write a [project] table with at least name and version", "%s", where)
	}
	r.dynamic = r.texts("project", "dynamic")
	r.out.Name = r.text("project", "name")
	if err := r.checkName(); err != nil {
		return err
	}
	if v := r.text("project", "version"); v != "" {
		if err := r.setVersion(v); err != nil {
			return err
		}
	}
	r.add("Summary", r.text("project", "description"))
	r.people("authors", "Author")
	r.people("maintainers", "Maintainer")
	if err := r.licence(); err != nil {
		return err
	}
	r.add("Keywords", strings.Join(r.texts("project", "keywords"), ","))
	r.add("Classifier", r.texts("project", "classifiers")...)
	for _, p := range r.pairs("project", "urls") {
		r.add("Project-URL", p.key+", "+p.value)
	}
	if err := r.dependencies(); err != nil {
		return err
	}
	if err := r.readme(); err != nil {
		return err
	}
	r.entryPoints("project")
	return r.undecided()
}

func (r *reader) checkName() error {
	if r.err != nil {
		return r.err
	}
	if !name.Valid(r.out.Name) {
		return r.refuse(r.line("project"), "correct it", "its name %q is no name of a Python project", r.out.Name)
	}
	if !name.Equal(r.out.Name, r.tree.Name) {
		return r.refuse(r.line("project", "name"), "lock the project anew (`pixi lock`, `uv lock`)", "the lock calls it %s, pyproject.toml %s", r.tree.Name, r.out.Name)
	}
	return nil
}

// entryPoints reads scripts, gui-scripts and entry-points of a table.
func (r *reader) entryPoints(table ...string) {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	for _, g := range []struct{ key, group string }{{"scripts", "console_scripts"}, {"gui-scripts", "gui_scripts"}} {
		if items := r.pairs(at(g.key)...); len(items) > 0 {
			r.out.entries = append(r.out.entries, group{g.group, items})
		}
	}
	groups := r.is(tomltree.Table, at("entry-points")...)
	if groups == nil {
		return
	}
	for _, e := range groups.Entries {
		if items := r.pairs(append(at("entry-points"), e.Key)...); len(items) > 0 {
			r.out.entries = append(r.out.entries, group{e.Key, items})
		}
	}
}

// dependencies reads what the project needs; what it computes is taken from the
// files that the backend would read, else from the lock.
func (r *reader) dependencies() error {
	requires := r.text("project", "requires-python")
	if requires == "" && slices.Contains(r.dynamic, "requires-python") {
		requires = r.tree.RequiresPython
	}
	if requires != "" {
		if _, err := version.ParseSet(requires); err != nil {
			return r.refuse(r.line("project", "requires-python"), "correct it", "requires-python: %v", err)
		}
		r.add("Requires-Python", requires)
	}
	dynamic := slices.Contains(r.dynamic, "dependencies") || slices.Contains(r.dynamic, "optional-dependencies")
	if dynamic {
		// They were computed when the lock was made.
		return r.requires("", r.tree.RequiresDist)
	}
	if err := r.requires("", r.texts("project", "dependencies")); err != nil {
		return err
	}
	extras := r.is(tomltree.Table, "project", "optional-dependencies")
	if extras == nil {
		return nil
	}
	for _, e := range extras.Entries {
		extra := name.Normalize(e.Key)
		r.add("Provides-Extra", extra)
		if err := r.requires(extra, r.texts("project", "optional-dependencies", e.Key)); err != nil {
			return err
		}
	}
	return nil
}

// requires adds requirements, under the condition of an extra ("" = none).
func (r *reader) requires(extra string, list []string) error {
	for _, text := range list {
		req, err := requirement.Parse(text)
		if err != nil {
			return r.refuse(r.line("project", "dependencies"), "correct it", "the dependency %q: %v", text, err)
		}
		out := req.String()
		if extra != "" {
			condition := fmt.Sprintf("extra == %q", extra)
			if m := req.Marker.String(); m != "" {
				if strings.Contains(m, " or ") {
					m = "(" + m + ")"
				}
				condition = m + " and " + condition
				req.Marker = nil
			}
			blank := ""
			if req.URL != "" {
				blank = " " // else the semicolon would be the URL's
			}
			out = req.String() + blank + "; " + condition
		}
		r.add("Requires-Dist", out)
	}
	return nil
}

// decided are fields that may be dynamic: each is taken from somewhere, or left
// out with a note.
var decided = map[string]bool{"version": true, "dependencies": true, "optional-dependencies": true, "requires-python": true}

// undecided refuses dynamic fields that an editable install would act on, and
// notes those that are for reading only.
func (r *reader) undecided() error {
	for _, d := range r.dynamic {
		switch {
		case decided[d]:
		case d == "scripts" || d == "gui-scripts" || d == "entry-points":
			return r.refuse(r.line("project", "dynamic"), "write them into [project]", "its %s are computed by a program", d)
		case d == "readme" || d == "description" || len(r.metadataOf(d)) > 0:
		default:
			r.out.Notes = append(r.out.Notes, fmt.Sprintf("%s: the field `%s` is computed by a program; the overlay's metadata do not have it", r.out.Name, d))
		}
	}
	return nil
}

// metadataOf are the headers of a field of [project] that are there already.
func (r *reader) metadataOf(key string) []field {
	header := map[string]string{"classifiers": "Classifier", "license": "License", "urls": "Project-URL", "keywords": "Keywords", "authors": "Author"}[key]
	var out []field
	for _, f := range r.out.metadata.headers {
		if header != "" && f.key == header {
			out = append(out, f)
		}
	}
	return out
}
