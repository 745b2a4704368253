package pyproject_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/pyproject"
)

const project = `[project]
name = "My.App"
version = "1.2"
requires-python = ">=3.10"
dependencies = [
    "numpy>=2",
]
dynamic = ["readme"]
[project.optional-dependencies]
Fast_Math = ["numba ; python_version < '3.13'"]
[dependency-groups]
test = ["pytest", {include-group = "Lint"}]
lint = ["ruff"]
[tool.uv]
dev-dependencies = ["ipython"]
constraint-dependencies = ["six<2", "idna"]
[build-system]
requires = ["hatchling"]
`

func texts(list []pyproject.Requirement) string {
	var out []string
	for _, r := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s:%d", r.Requirement, r.Extra, r.Line)))
	}
	return strings.Join(out, ", ")
}

func TestParse(t *testing.T) {
	p, err := pyproject.Parse([]byte(project))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Named || p.Name != "my-app" || p.Line != 2 || p.Version != "1.2" || p.VersionLine != 3 || p.RequiresPython.String() != ">=3.10" || p.PythonLine != 4 || !p.BuildSystem {
		t.Errorf("%+v", p)
	}
	if got := texts(p.Requirements); got != `numpy >=2 :6, numba ; python_version < "3.13" fast-math:10` {
		t.Error(got)
	}
	if !slices.Equal(p.Extras, []string{"fast-math"}) {
		t.Error(p.Extras)
	}
	if got := slices.Sorted(maps.Keys(p.Groups)); !slices.Equal(got, []string{"dev", "lint", "test"}) {
		t.Error(got)
	}
	if got := texts(p.Groups["test"]) + "; " + texts(p.Groups["dev"]); got != "pytest :12, ruff :13; ipython :15" {
		t.Error(got)
	}
	if p.Vague != nil || !p.Dynamic("readme") || p.Known("readme") || !p.Known("dependencies") {
		t.Errorf("vague %q", p.Vague)
	}
	list, ok := pyproject.List(p.UV, "constraint-dependencies")
	if got := texts(list); !ok || got != "six <2 :16, idna :16" {
		t.Error(got, ok)
	}
}

// What is not understood is named by its key; no TOML is an error with its line.
func TestVague(t *testing.T) {
	for text, want := range map[string]string{
		"[project]\nname = 'a'\ndependencies = ['??']\n":                     "dependencies",
		"[project]\nname = 'a'\ndependencies = 'numpy'\n":                    "dependencies",
		"[project]\nname = 'a'\noptional-dependencies = []\n":                "optional-dependencies",
		"[project]\nname = 'a'\n[project.optional-dependencies]\nx = [1]\n":  "optional-dependencies",
		"[project]\nname = 'a'\nrequires-python = 'three'\n":                 "requires-python",
		"[project]\nname = 'a'\nversion = 1\n":                               "version",
		"[dependency-groups]\na = [{include-group = 'a'}]\n":                 "dependency-groups",
		"[dependency-groups]\na = [{include-group = 'b'}]\n":                 "dependency-groups",
		"[dependency-groups]\na = [{other = 'b'}]\n":                         "dependency-groups",
		"dependency-groups = 1\n":                                            "dependency-groups",
		"[tool.uv]\ndev-dependencies = 'x'\n":                                "dependency-groups",
		"[dependency-groups]\na = ['x']\n[project]\nname = 'a'\n# nothing\n": "",
	} {
		p, err := pyproject.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Vague, " "); got != want {
			t.Errorf("%q: vague %q, want %q", text, got, want)
		}
	}
	many := "[dependency-groups]\na0 = []\n"
	for i := range 40 {
		many += fmt.Sprintf("a%d = [{include-group = 'a%d'}, {include-group = 'a%d'}]\n", i+1, i, i)
	}
	if p, err := pyproject.Parse([]byte(many)); err != nil || p.Known("dependency-groups") {
		t.Errorf("2^40 inclusions: %v", err)
	}
	if _, err := pyproject.Parse([]byte("[project]\nname = \n")); !errors.Is(err, pyproject.ErrPyproject) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// Any bytes give a project or an error, and names are normalized.
func FuzzParse(f *testing.F) {
	f.Add([]byte(project))
	f.Add([]byte("[dependency-groups]\na = [{include-group = 'b'}]\nb = [{include-group = 'a'}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pyproject.Parse(data)
		if err != nil {
			if !errors.Is(err, pyproject.ErrPyproject) {
				t.Error(err)
			}
			return
		}
		for _, n := range append(p.Extras, p.Name) {
			if n != strings.ToLower(n) || strings.ContainsAny(n, "_.") {
				t.Errorf("%q is not normalized", n)
			}
		}
		for _, r := range p.Requirements {
			if r.Requirement == nil || r.Line < 1 {
				t.Errorf("%+v", r)
			}
		}
	})
}
