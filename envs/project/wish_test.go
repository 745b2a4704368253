package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
)

const uvLock = `version = 1
requires-python = ">=3.11"
[manifest]
members = ["app", "tool"]
[[package]]
name = "app"
version = "1"
source = { virtual = "." }
[package.optional-dependencies]
gpu = []
cpu = []
[[package]]
name = "tool"
version = "1"
source = { editable = "members/tool" }
`

// What lies beside a lock is in the names, and nothing else decides: the name of a
// name is the name.
func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		texts []string
		all   bool
		want  []string
	}{
		"nothing":            {nil, nil, false, []string{"default"}},
		"all":                {nil, nil, true, []string{"default", "extra=cpu", "extra=gpu"}},
		"twice":              {nil, []string{"extra=gpu", "extra=GPU"}, false, []string{"extra=gpu"}},
		"python":             {map[string]string{".python-version": "# mine\n3.12\n"}, []string{"", "extra=gpu", "python=3.11"}, false, []string{"python=3.12", "python=3.12,extra=gpu", "python=3.11"}},
		"empty python":       {map[string]string{".python-version": "\n"}, nil, false, []string{"default"}},
		"uv's own default":   {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = [\"dev\"]\n"}, nil, false, []string{"default"}},
		"more groups":        {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = [\"Docs\", \"dev\"]\n"}, nil, false, []string{"group=docs"}},
		"other groups":       {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = [\"docs\"]\n"}, []string{"default", "only-groups,group=x"}, false, []string{"no-default-groups,group=docs", "only-groups,group=x"}},
		"no groups":          {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = []\n"}, nil, false, []string{"no-default-groups"}},
		"all groups":         {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = \"all\"\n"}, nil, false, []string{"all-groups"}},
		"those of a member":  {map[string]string{"pyproject.toml": "[tool.uv]\ndefault-groups = []\n", "members/tool/pyproject.toml": "[tool.uv]\ndefault-groups = [\"dev\", \"own\"]\n"}, []string{"tool"}, false, []string{"package=tool,group=own"}},
		"no manifest at all": {map[string]string{"members/tool/pyproject.toml": "[tool.uv]\ndefault-groups = []\n"}, []string{"default"}, false, []string{"default"}},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		lock := project.OpenPython(filepath.Join(dir, "uv.lock"), []byte(uvLock))
		got, err := lock.Names(c.texts, c.all)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
			continue
		}
		again, err := lock.Names(got, false)
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: again %q, %v", name, again, err)
		}
		if alone, err := project.OpenPython("", []byte(uvLock)).Names(got, false); err != nil || !slices.Equal(alone, got) {
			t.Errorf("%s: without what lies beside it %q, %v", name, alone, err)
		}
	}
	if project.OpenPython("pixi.lock", []byte("version: 6\nenvironments: {}\npackages: []\n")) != nil {
		t.Error("a pixi.lock names its environments")
	}
}

func TestNamesAreRefused(t *testing.T) {
	for _, c := range []struct {
		file, text, wish string
		class            error
	}{
		{".python-version", "pypy3.10\n", "default", python.ErrInterpreter},
		{"pyproject.toml", "[tool.uv]\ndefault-groups = 3\n", "default", project.ErrManifest},
		{"pyproject.toml", "[tool.uv\n", "default", project.ErrManifest},
		{"x", "", "extra=gpu,gpu", python.ErrSelection},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := project.OpenPython(filepath.Join(dir, "uv.lock"), []byte(uvLock)).Names([]string{c.wish}, false); !errors.Is(err, c.class) {
			t.Errorf("%s %q, %s: %q, %v", c.file, c.text, c.wish, got, err)
		}
	}
}
