package target_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const uv = `version = 1
requires-python = ">=3.11"

[[package]]
name = "app"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "fast" }]
optional-dependencies = { only = [{ name = "intel" }] }

[[package]]
name = "fast"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/fast-1-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:` + hash + `" },
    { url = "https://files.pypi.example/fast-1-cp312-cp312-manylinux_2_28_aarch64.whl", hash = "sha256:` + hash + `" },
]

[[package]]
name = "intel"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/intel-1-py3-none-manylinux_2_34_x86_64.whl", hash = "sha256:` + hash + `" },
]
`

const pep751 = `lock-version = "1.0"
created-by = "test"
requires-python = ">=3.11,<3.13"
[[packages]]
name = "fast"
wheels = [{ url = "https://files.pypi.example/fast-1-py3-none-any.whl", hashes = { sha256 = "` + hash + `" } }]
`

func want(selection string, versions ...string) target.Want {
	s, err := python.ParseSelection(selection)
	if err != nil {
		panic(err)
	}
	w := target.Want{Selection: s, Platforms: []string{"linux-aarch64", "linux-64"}, Glibc: tag.Glibc{Major: 2, Minor: 28}}
	for _, v := range versions {
		for _, p := range w.Platforms {
			w.Interpreters = append(w.Interpreters, python.Interpreter{Version: v, Platform: p, Kind: python.Standalone, URL: "https://files.example/" + v, SHA256: hash})
		}
	}
	return w
}

func sources(t *testing.T) (target.Source, target.Source) {
	t.Helper()
	u, err := target.Parse([]byte(uv), []byte("[tool.uv]\ndefault-groups = []\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := target.Parse([]byte(pep751), nil)
	if err != nil {
		t.Fatal(err)
	}
	return u, p
}

func TestParseRefuses(t *testing.T) {
	for text, pyproject := range map[string]string{
		"version: 6\nenvironments: {}\npackages: []\n": "",
		"version = 2\nrequires-python = \">=3.11\"\n":  "",
		"lock-version = \"2.0\"\n":                     "",
		uv:                                             "[tool.uv]\ndefault-groups = 3\n",
	} {
		if s, err := target.Parse([]byte(text), []byte(pyproject)); !errors.Is(err, lockfile.ErrLock) {
			t.Errorf("%.20q: %v, %v", text, s, err)
		}
	}
}

func TestMake(t *testing.T) {
	ofUV, ofPylock := sources(t)
	for source, files := range map[target.Source][2]string{
		ofUV:     {"fast-1-cp312-cp312-manylinux_2_28_x86_64.whl", "fast-1-cp312-cp312-manylinux_2_28_aarch64.whl"},
		ofPylock: {"fast-1-py3-none-any.whl", "fast-1-py3-none-any.whl"},
	} {
		made, err := target.Make(source, want("", "3.10.1", "3.12.4", "3.11.2"))
		if err != nil {
			t.Fatal(err)
		}
		env := made.Lock.Environments[0]
		if made.Lock.Version != 1 || len(made.Lock.Digest) != 64 || made.Lock.Format != lockfile.FormatUV && made.Lock.Format != lockfile.FormatPylock {
			t.Errorf("%+v", made.Lock)
		}
		if env.Name != "default" || len(env.Platforms) != 2 || len(made.Interpreters) != 2 {
			t.Fatalf("%+v, %+v", env, made.Interpreters)
		}
		for i, subdir := range []string{"linux-64", "linux-aarch64"} {
			p := env.Platforms[i]
			if p.Subdir != subdir || len(p.PyPI) != 1 || p.PyPI[0].FileName != files[i] || made.Interpreters[i].Platform != subdir || made.Interpreters[i].Version != "3.12.4" {
				t.Errorf("%s: %+v with %+v", subdir, p.PyPI[0], made.Interpreters[i])
			}
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	ofUV, ofPylock := sources(t)
	for _, c := range []struct {
		source target.Source
		want   target.Want
		class  error
		says   []string
	}{
		{ofUV, want("", "3.10.1"), python.ErrInterpreter, []string{">=3.11", "3.10.1 linux-64"}},
		{ofPylock, want("", "3.13.1"), python.ErrInterpreter, []string{">=3.11,<3.13"}},
		{ofUV, want("extra=lost", "3.12.4"), python.ErrSelection, []string{"no extra `lost`; it has only"}},
		{ofPylock, want("app", "3.12.4"), python.ErrSelection, []string{"no members"}},
		// Both platforms are told of.
		{ofUV, want("extra=only", "3.12.4"), lockfile.ErrLock, []string{"needs glibc 2.34", "on linux-64", "is for manylinux_2_34_x86_64", "on linux-aarch64"}},
	} {
		_, err := target.Make(c.source, c.want)
		if !errors.Is(err, c.class) {
			t.Errorf("%+v: %v", c.want.Selection, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%+v: %q is not in: %v", c.want.Selection, s, err)
			}
		}
	}
}
