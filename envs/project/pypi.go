package project

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

var anyPython = &matchspec.MatchSpec{Name: "python"}

func normalize(s string) string { return name.Normalize(s) }

// PythonRequest is one Python package that a manifest asks for.
type PythonRequest struct {
	// Name, normalized.
	Name string
	// Versions that fit; Known tells that they were understood.
	Versions version.Set
	Known    bool
	// Extras, normalized.
	Extras []string
	// Marker is the condition; nil = none.
	Marker *marker.Marker
	// Direct: it comes from a path, a URL or a git repository, not from an index.
	Direct bool
	// Path is its directory or archive as written; Editable: it is to be used from
	// its source tree.
	Path     string
	Editable bool
	// Index is the URL of its own index; "" = none of its own.
	Index string
	Line  int32
}

// readPython reads a table of Python dependencies.
func (m *manifest) readPython(key string, v *node) []PythonRequest {
	var out []PythonRequest
	for _, e := range m.entries(key, v) {
		out = append(out, m.readPythonRequest(key+"."+e.Key, e.Key, e.Value))
	}
	return out
}

func (m *manifest) readPythonRequest(key, name string, v *node) PythonRequest {
	r := PythonRequest{Name: normalize(name), Line: v.Line}
	var versions string
	switch v.Kind {
	case tomltree.String:
		versions = v.Text
	case tomltree.Table:
		versions = m.text(key+".version", v.Get("version"))
		r.Index = m.text(key+".index", v.Get("index"))
		r.Path, r.Editable = m.text(key+".path", v.Get("path")), v.Get("editable") != nil && v.Get("editable").Text == "true"
		for _, source := range []string{"path", "git", "url"} {
			r.Direct = r.Direct || v.Get(source) != nil
		}
		for _, extra := range m.texts(key+".extras", v.Get("extras")) {
			r.Extras = append(r.Extras, normalize(extra))
		}
		if text := v.Get("env-markers"); text != nil {
			var err error
			if r.Marker, err = marker.Parse(m.text(key+".env-markers", text)); err != nil {
				m.failf(text.Line, "`%s.env-markers`: %v", key, err)
			}
		}
	default:
		m.failf(v.Line, "`%s` must be a text or a table, it is %s", key, v.Kind)
	}
	versions = strings.TrimSpace(versions)
	if versions == "" || versions == "*" {
		r.Known = true
		return r
	}
	// pixi knows more forms; what it makes of them is in the lock.
	set, err := version.ParseSet(versions)
	r.Versions, r.Known = set, err == nil
	return r
}

// readPyproject reads what a pyproject.toml says outside of [tool.pixi]: its
// dependencies are the default feature's; its optional dependencies and its
// dependency groups are features of these names.
func (m *manifest) readPyproject(p *Project) {
	if m.pyproject == nil {
		return
	}
	own := normalize(m.first("name", m.pyproject.Get("project")))
	base := &p.features[defaultName].base
	if requires := m.pyproject.Get("project", "requires-python"); requires != nil && requires.Kind == tomltree.String {
		// pixi adds the Python that this asks for, unless the manifest names one.
		if !slices.ContainsFunc(base.conda, func(r CondaRequest) bool { return r.Name == "python" }) {
			base.conda = append(base.conda, CondaRequest{Name: "python", Spec: anyPython, Conditional: true, Line: requires.Line})
		}
	}
	base.python = append(base.python, pep508(m.pyproject.Get("project", "dependencies"), nil, own, 0)...)
	for _, groups := range []*node{m.pyproject.Get("project", "optional-dependencies"), m.pyproject.Get("dependency-groups")} {
		if groups == nil || groups.Kind != tomltree.Table {
			continue
		}
		for _, e := range groups.Entries {
			requests := pep508(e.Value, groups, own, 0)
			names := []string{e.Key}
			if plain := strings.ReplaceAll(e.Key, "_", "-"); plain != e.Key {
				names = append(names, plain)
			}
			for _, name := range names {
				if p.features[name] == nil {
					p.features[name] = &feature{}
				}
				f := p.features[name]
				f.base.python = append(f.base.python, requests...)
			}
		}
	}
}

// maxIncludes bounds groups that include one another.
const maxIncludes = 20

// pep508 reads a list of requirements; groups are what it may include. What is
// none, or the project itself, is passed over: the tools that build the project
// judge it.
func pep508(list, groups *node, own string, depth int) []PythonRequest {
	if list == nil || list.Kind != tomltree.Array || depth > maxIncludes {
		return nil
	}
	var out []PythonRequest
	for _, item := range list.Items {
		if group := item.Get("include-group"); group != nil && groups != nil {
			for _, e := range groups.Entries {
				if normalize(e.Key) == normalize(group.Text) {
					out = append(out, pep508(e.Value, groups, own, depth+1)...)
				}
			}
			continue
		}
		if item.Kind != tomltree.String {
			continue
		}
		req, err := requirement.Parse(item.Text)
		if err != nil || normalize(req.Name) == own {
			continue
		}
		r := PythonRequest{Name: normalize(req.Name), Versions: req.Specifiers, Known: true, Marker: req.Marker, Direct: req.URL != "", Line: item.Line}
		for _, extra := range req.Extras {
			r.Extras = append(r.Extras, normalize(extra))
		}
		out = append(out, r)
	}
	return out
}

// Python are the Python packages that a manifest asks for in an environment on
// a platform. One name may be asked for several times.
func (p *Project) Python(env string, on Platform) ([]PythonRequest, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	var out []PythonRequest
	for _, f := range features {
		seen := map[string]bool{}
		for _, t := range f.on(on) {
			for _, r := range t.python {
				// A target replaces what the feature itself says of a name.
				if !seen[r.Name] {
					out = append(out, r)
				}
			}
			for _, r := range t.python {
				seen[r.Name] = true
			}
		}
	}
	return out, nil
}

// Indexes is where a manifest says that the Python packages of an environment
// come from.
type Indexes struct {
	// URL of the first index; "" = the manifest leaves it to pixi. Line of it.
	URL  string
	Line int32
	// More: there are others.
	More bool
	// Overridden are names, normalized, of which the manifest replaces what other
	// packages require.
	Overridden []string
}

// Indexes of an environment.
func (p *Project) Indexes(env string) (Indexes, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return Indexes{}, err
	}
	var o pypiOptions
	for _, f := range features {
		o.join(f.pypi)
	}
	return Indexes{o.indexURL, o.line, o.extra, o.overrides}, nil
}
