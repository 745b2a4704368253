package project_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/project"
)

const wide = `
[workspace]
name = "w"
channels = ["conda-forge", { channel = "https://conda.example/fast", priority = 5 }]
platforms = [
  { name = "gpu", platform = "linux-64", cuda = { driver = "12.4", arch = "9.0" }, glibc = "2.28", __archspec = "x86_64_v3" },
  "linux-64", "linux-aarch64", "osx-arm64",
]
[system-requirements]
libc = { family = "glibc", version = "2.17" }
macos = "13.0"
cuda = "11.8"
[dependencies]
python = "3.12.*"
numpy = { version = ">=2", build = "py312*", channel = "conda-forge" }
local = { path = "." }
sometimes = { version = "*", when = "__cuda >=12" }
[host-dependencies]
numpy = "1"
cmake = ">=3"
[target.linux.dependencies]
numpy = "2.1.*"
[target.linux-aarch64.dependencies]
arm = "*"
[target.gpu.dependencies]
cupy = "*"
[pypi-dependencies]
Flask_X = { version = ">=1", extras = ["A_b"], env-markers = "sys_platform == 'linux'" }
here = { path = ".", editable = true }
odd = { version = "latest", index = "https://pypi.example/own" }
[pypi-options]
index-url = "https://pypi.example/simple"
dependency-overrides = { Some_Thing = "*" }
[feature.f]
channels = ["f-channel"]
platforms = ["linux-64", "gpu"]
system-requirements = { cuda = "12.2" }
[feature.f.dependencies]
numpy = "<3"
[feature.bare.pypi-options]
extra-index-urls = ["https://pypi.example/more"]
[environments]
both = { features = ["f"], solve-group = "g" }
grouped = { features = ["bare"], solve-group = "g" }
alone = { features = ["f"], no-default-feature = true }
[tool.hpcenv]
environments = ["both", "default"]
`

func TestPreferred(t *testing.T) {
	p := load(t, write(t, "pixi.toml", wide))
	if diff := cmp.Diff([]string{"both", "default"}, p.Preferred); diff != "" {
		t.Error(diff)
	}
	if len(p.Digest) != 64 {
		t.Errorf("digest %q", p.Digest)
	}
	pyproject := load(t, write(t, "pyproject.toml", "[project]\nname=\"x\"\n[tool.pixi.environments]\na=[]\n[tool.hpcenv]\nenvironments=[\"a\"]\n"))
	if diff := cmp.Diff([]string{"a"}, pyproject.Preferred); diff != "" {
		t.Error(diff)
	}
	for text, says := range map[string]string{
		"[tool.hpcenv]\nenvironments=[\"x\"]":                                             `:2: ` + "`tool.hpcenv.environments`" + ` names "x", and there is no such environment; there are default; the nearest is default`,
		"[environments]\ncpu=[]\n[tool.hpcenv]\nenvironments=[\n \"default\",\n \"cpi\"]": `pixi.toml:6: ` + "`tool.hpcenv.environments`" + ` names "cpi", and there is no such environment; there are cpu, default; the nearest is cpu`,
		"[tool.hpcenv]\nenvironments=[\"default\",\"default\"]":                           "twice",
		"[tool.hpcenv]\nenvironments=\"default\"":                                         "must be an array",
		"[tasks]\na = 1":        "tasks.a",
		"[dependencies]\na = 1": "dependencies.a",
		"[pypi-dependencies]\na = {env-markers = \"nonsense ===\"}": "env-markers",
		"[workspace]\nchannels = [1]":                               "a channel",
	} {
		_, err := project.Load(write(t, "pixi.toml", text))
		if !errors.Is(err, project.ErrManifest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChannels(t *testing.T) {
	p := load(t, write(t, "pixi.toml", wide))
	for env, want := range map[string]string{
		"default": "https://conda.example/fast conda-forge true",
		"both":    "https://conda.example/fast f-channel conda-forge false",
		"alone":   "f-channel false",
		"grouped": "https://conda.example/fast conda-forge f-channel false",
	} {
		channels, settled, err := p.Channels(env)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range channels {
			got += c.Name + " "
		}
		if got += fmt.Sprint(settled); got != want {
			t.Errorf("%s: %s, want %s", env, got, want)
		}
	}
	if p.SolveGroup("both") != "g" || p.SolveGroup("default") != "" || p.SolveGroup("nosuch") != "" {
		t.Error("solve groups")
	}
}

// on returns a platform of an environment.
func on(t *testing.T, p *project.Project, env, name string) project.Platform {
	t.Helper()
	platforms, err := p.PlatformsOf(env)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range platforms {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("%s has no platform %s: %v", env, name, platforms)
	return project.Platform{}
}

func TestVirtualPackages(t *testing.T) {
	p := load(t, write(t, "pixi.toml", wide))
	for _, c := range []struct {
		env, platform string
		want          map[string]string
	}{
		{"default", "gpu", map[string]string{"__cuda": "12.4", "__cuda_arch": "9.0", "__glibc": "2.28", "__archspec": "x86_64_v3"}},
		{"default", "linux-64", map[string]string{"__cuda": "11.8", "__glibc": "2.17"}},
		{"default", "osx-arm64", map[string]string{"__cuda": "11.8", "__osx": "13.0"}},
		{"both", "linux-64", map[string]string{"__cuda": "12.2", "__glibc": "2.17"}},
		{"alone", "linux-64", map[string]string{"__cuda": "12.2"}},
	} {
		got, err := p.VirtualPackages(c.env, on(t, p, c.env, c.platform))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s on %s: %s", c.env, c.platform, diff)
		}
	}
	// Their order is their priority.
	platforms, err := p.PlatformsOf("both")
	if err != nil || len(platforms) != 2 || platforms[0].Name != "gpu" || platforms[1].Name != "linux-64" {
		t.Errorf("%v, %v", platforms, err)
	}
}

func TestConda(t *testing.T) {
	p := load(t, write(t, "pixi.toml", wide))
	for _, c := range []struct{ env, platform, want string }{
		{"default", "linux-64", "numpy 2.1.*|cmake >=3|python 3.12.*|local source|sometimes * if __cuda >=12"},
		{"default", "gpu", "cupy *|numpy 2.1.*|cmake >=3|python 3.12.*|local source|sometimes * if __cuda >=12"},
		{"default", "osx-arm64", `numpy >=2[build="py312*"]|cmake >=3|python 3.12.*|local source|sometimes * if __cuda >=12`},
		{"alone", "linux-64", "numpy <3"},
		{"both", "linux-64", "numpy <3|numpy 2.1.*|cmake >=3|python 3.12.*|local source|sometimes * if __cuda >=12"},
	} {
		requests, err := p.Conda(c.env, on(t, p, c.env, c.platform))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range requests {
			text := r.Name + " source"
			if !r.Source {
				text = r.Spec.String()
			}
			if r.Conditional {
				text += " if " + r.Condition
			}
			got = append(got, text)
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%s on %s:\n%s\nwant\n%s", c.env, c.platform, g, c.want)
		}
	}
}

func TestPython(t *testing.T) {
	p := load(t, write(t, "pixi.toml", wide))
	requests, err := p.Python("default", on(t, p, "default", "linux-64"))
	if err != nil || len(requests) != 3 {
		t.Fatalf("%v, %v", requests, err)
	}
	flask, here, odd := requests[0], requests[1], requests[2]
	if flask.Name != "flask-x" || flask.Versions.String() != ">=1" || !flask.Known || flask.Marker == nil || len(flask.Extras) != 1 || flask.Extras[0] != "a-b" {
		t.Errorf("%+v", flask)
	}
	if !here.Direct || odd.Known || odd.Index != "https://pypi.example/own" {
		t.Errorf("%+v, %+v", here, odd)
	}
	indexes, err := p.Indexes("default")
	if err != nil || indexes.URL != "https://pypi.example/simple" || indexes.More || len(indexes.Overridden) != 1 || indexes.Overridden[0] != "some-thing" {
		t.Errorf("%+v, %v", indexes, err)
	}
	if indexes, err = p.Indexes("grouped"); err != nil || !indexes.More {
		t.Errorf("%+v, %v", indexes, err)
	}
}

func TestPythonOfPyproject(t *testing.T) {
	p := load(t, write(t, "pyproject.toml", `[project]
name = "Own_Name"
requires-python = ">=3.11"
dependencies = ["requests[socks]>=2; python_version < '4'", "own-name", "not a requirement !"]
[project.optional-dependencies]
my_extra = ["a"]
[dependency-groups]
dev = ["b>1", { include-group = "test" }]
test = ["c", { include-group = "dev" }]
[tool.pixi.workspace]
channels = []
platforms = ["linux-64"]
[tool.pixi.environments]
all = ["dev", "my-extra"]
`))
	names := func(env string) string {
		requests, err := p.Python(env, on(t, p, env, "linux-64"))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, r := range requests {
			out[r.Name] = true
		}
		var list []string
		for _, n := range []string{"requests", "a", "b", "c", "own-name"} {
			if out[n] {
				list = append(list, n)
			}
		}
		return strings.Join(list, " ")
	}
	if got := names("default"); got != "requests" {
		t.Errorf("default: %s", got)
	}
	if got := names("all"); got != "requests a b c" {
		t.Errorf("all: %s", got)
	}
	conda, err := p.Conda("default", on(t, p, "default", "linux-64"))
	if err != nil || len(conda) != 1 || conda[0].Name != "python" || !conda[0].Conditional {
		t.Errorf("%+v, %v", conda, err)
	}
}
