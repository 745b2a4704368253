package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// CondaRequest is one conda package that a manifest asks for.
type CondaRequest struct {
	// Name in lower case.
	Name string
	// Spec is what is asked of it; nil if it is not an ordinary archive of a
	// channel (Source), or in a form that is not known here.
	Spec *matchspec.MatchSpec
	// Source: it is built from a path, a git repository or an archive of sources,
	// or only what it needs to be built is wanted (`dev`).
	Source bool
	// Conditional: it counts on some machines only (`when`). Condition is the
	// text, "" if it is in another form.
	Conditional bool
	Condition   string
	Line        int32
}

// condaTables are the tables of conda dependencies, the weakest first.
var condaTables = [...]string{"build-dependencies", "host-dependencies", "dependencies"}

// readConda reads the conda dependencies of a feature or target: of a name in
// several tables the strongest counts.
func (m *manifest) readConda(under string, v *node) []CondaRequest {
	var out []CondaRequest
	for _, table := range condaTables {
		for _, e := range m.entries(under+table, v.Get(table)) {
			r := m.readCondaRequest(under+table+"."+e.Key, e.Key, e.Value)
			if i := slices.IndexFunc(out, func(o CondaRequest) bool { return o.Name == r.Name }); i >= 0 {
				out[i] = r
				continue
			}
			out = append(out, r)
		}
	}
	// What is developed here is not installed, but what it needs is.
	for _, e := range m.entries(under+"dev", v.Get("dev")) {
		out = append(out, CondaRequest{Name: strings.ToLower(e.Key), Source: true, Conditional: true, Line: e.Value.Line})
	}
	return out
}

func (m *manifest) readCondaRequest(key, name string, v *node) CondaRequest {
	r := CondaRequest{Name: strings.ToLower(name), Line: v.Line}
	var texts []string
	switch v.Kind {
	case tomltree.String:
		texts = append(texts, v.Text)
	case tomltree.Table:
		for _, source := range []string{"path", "git", "url"} {
			r.Source = r.Source || v.Get(source) != nil
		}
		if when := v.Get("when"); when != nil {
			r.Conditional = true
			if when.Kind == tomltree.String {
				r.Condition = when.Text
			}
		}
		texts = append(texts, m.text(key+".version", v.Get("version")))
	default:
		m.failf(v.Line, "`%s` must be a text or a table, it is %s", key, v.Kind)
	}
	if r.Source || m.err != nil {
		return r
	}
	text := r.Name + " " + texts[0]
	var pairs []string
	for _, k := range []string{"build", "build-number", "md5", "sha256"} {
		if value := v.Get(k); value != nil && (value.Kind == tomltree.String || value.Kind == tomltree.Integer) {
			pairs = append(pairs, fmt.Sprintf("%s=%q", strings.ReplaceAll(k, "-", "_"), value.Text))
		}
	}
	if pairs != nil {
		text += "[" + strings.Join(pairs, ", ") + "]"
	}
	// pixi knows forms that are not known here; what it makes of them is in the lock.
	if spec, err := matchspec.Parse(text); err == nil && spec.Name == r.Name && !strings.ContainsAny(spec.Build.String(), " \t") {
		r.Spec = spec
		if extras := v.Get("extras"); extras != nil {
			r.Spec.Extras = m.texts(key+".extras", extras)
		}
	}
	return r
}

// Conda are the conda packages that a manifest asks for in an environment on a
// platform: of each feature, what its strongest table says of a name; one name
// may be asked for by several features.
func (p *Project) Conda(env string, on Platform) ([]CondaRequest, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	var out []CondaRequest
	for _, f := range features {
		seen := map[string]bool{}
		for _, t := range f.on(on) {
			for _, r := range t.conda {
				if !seen[r.Name] {
					seen[r.Name] = true
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}
