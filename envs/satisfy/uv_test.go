package satisfy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// change is one of a file of testdata/workspace, whose lock uv wrote.
type change struct {
	file, old, new string
	// says is part of what must be said; "" = the lock is still good.
	says string
}

const root = "pyproject.toml"

var changes = map[string]change{
	"nothing":                     {root, "", "", ""},
	"comment":                     {root, "[project]\n", "# comment\n[project]\n", ""},
	"dependency added":            {root, `"one",`, `"one", "numpy>=2",`, "app asks for `numpy >=2`, and the lock was made without it (pyproject.toml, line 6)"},
	"dependency gone":             {root, `"one",`, ``, "the lock was made for `one`, which app does not ask for"},
	"condition":                   {root, "python_version >= '3.10'", "python_version >= '3.11'", "app asks for `lib` under other conditions than the lock was made for (pyproject.toml, line 7)"},
	"condition, other words":      {root, "python_version >= '3.10'", "not_python", ""},
	"condition, same":             {root, "python_version >= '3.10'", "python_full_version >= '3.10.0' and python_version > '3.8'", ""},
	"condition, never":            {root, `"one",`, `"one", "nt ; python_version < '3.9'",`, ""},
	"name written otherwise":      {root, `"one",`, `"ONE",`, ""},
	"extra added":                 {root, "fast = [", "slow = [\"lib\"]\nfast = [", "the extra slow of app asks for `lib"},
	"extra without packages":      {root, "fast = [", "slow = []\nfast = [", "app has the extra slow, the lock has not"},
	"extra of itself":             {root, `all = ["app[fast]"]`, `all = ["two"]`, "the extra all of app asks for `two"},
	"group added":                 {root, "docs = [", "more = [\"one\"]\ndocs = [", "the group more of app asks for `one"},
	"group no longer included":    {root, `, {include-group = "docs"}`, "", "the lock was made for `lib`, which the group test of app does not ask for"},
	"group with Pythons":          {root, "[tool.uv.workspace]", "[tool.uv.dependency-groups]\ntest = {requires-python = \">=3.9\"}\n[tool.uv.workspace]", ""},
	"version":                     {root, `version = "1.0"`, `version = "1.1"`, "the version of app is 1.1, and 1.0 in the lock (pyproject.toml, line 3)"},
	"version, same":               {root, `version = "1.0"`, `version = "v1.0.0"`, ""},
	"version, dynamic":            {root, `version = "1.0"`, `dynamic = ["version"]`, "the version of app is dynamic"},
	"dependencies, dynamic":       {root, `version = "1.0"`, "version = \"1.0\"\ndynamic = [\"optional-dependencies\"]", ""},
	"Python":                      {root, `">=3.9"`, `">=3.9,<3.14"`, "requires-python is >=3.9,<3.14,>=3.8 in the manifest, and the lock was made for >=3.9 (pyproject.toml, line 4)"},
	"Python of a member":          {"packages/one/pyproject.toml", `">=3.8"`, `">=3.11"`, "requires-python is"},
	"Python of a member, idle":    {"packages/one/pyproject.toml", `">=3.8"`, `">=3.9"`, ""},
	"Python, bounded":             {root, `">=3.9"`, `"~=3.9, !=3.9.2"`, "requires-python is ~=3.9,"},
	"Python, other words":         {root, `">=3.9"`, `">=3.9.0,!=3.9.2"`, ""},
	"name":                        {root, `name = "app"`, `name = "other"`, "the workspace has the member other, the lock has not (pyproject.toml, line 15)"},
	"member's dependency":         {"packages/one/pyproject.toml", "[build-system]", "dependencies = [\"two\"]\n[build-system]", "one asks for `two"},
	"member's version":            {"packages/two/pyproject.toml", `"0.1"`, `"0.2"`, "the version of two is 0.2, and 0.1 in the lock (packages/two/pyproject.toml, line 3)"},
	"directory's dependency":      {"lib/pyproject.toml", "dependencies = []", `dependencies = ["six"]`, "lib asks for `six`, and the lock was made without it (lib/pyproject.toml, line 4)"},
	"member added":                {"packages/three/pyproject.toml", "", "[project]\nname = \"three\"\nversion = \"1\"\n", "the workspace has the member three, the lock has not"},
	"member left out":             {root, `members = ["packages/*"]`, "members = [\"packages/*\"]\nexclude = [\"packages/one\"]", "the lock has the member one, the workspace has not"},
	"member not managed":          {"packages/three/pyproject.toml", "", "[project]\nname = \"three\"\nversion = \"1\"\n[tool.uv]\nmanaged = false\n", ""},
	"source":                      {root, `lib = { path = "lib" }`, `lib = { git = "https://git.example/lib" }`, "lib comes from `git` in tool.uv.sources, and from `directory` in the lock (pyproject.toml, line 20)"},
	"source gone":                 {root, `lib = { path = "lib" }`, ``, "app asks for `lib`, and the lock was made for `lib from a source of its own`"},
	"override":                    {root, "[tool.uv.workspace]", "[tool.uv]\noverride-dependencies = [\"lib==2\"]\n[tool.uv.workspace]", "tool.uv.override-dependencies asks for `lib"},
	"override of what is not":     {root, "[tool.uv.workspace]", "[tool.uv]\noverride-dependencies = [\"numpy==2\"]\n[tool.uv.workspace]", ""},
	"constraint":                  {root, "[tool.uv.workspace]", "[tool.uv]\nconstraint-dependencies = [\"lib<9\"]\n[tool.uv.workspace]", "tool.uv.constraint-dependencies asks for `lib"},
	"build constraint":            {root, "[tool.uv.workspace]", "[tool.uv]\nbuild-constraint-dependencies = [\"setuptools<80\"]\n[tool.uv.workspace]", "tool.uv.build-constraint-dependencies asks for `setuptools <80`"},
	"left out":                    {root, "[tool.uv.workspace]", "[tool.uv]\nexclude-dependencies = [\"two\"]\n[tool.uv.workspace]", "tool.uv.exclude-dependencies leaves out two, which is locked"},
	"development dependencies":    {root, "[tool.uv.workspace]", "[tool.uv]\ndev-dependencies = [\"one\"]\n[tool.uv.workspace]", "the group dev of app asks for `one"},
	"resolution":                  {root, "[tool.uv.workspace]", "[tool.uv]\nresolution = \"lowest-direct\"\n[tool.uv.workspace]", "tool.uv.resolution is lowest-direct, and the lock was made with highest"},
	"resolution, standard":        {root, "[tool.uv.workspace]", "[tool.uv]\nresolution = \"highest\"\nprerelease = \"if-necessary-or-explicit\"\n[tool.uv.workspace]", ""},
	"pre-releases":                {root, "[tool.uv.workspace]", "[tool.uv]\nprerelease = \"allow\"\n[tool.uv.workspace]", "tool.uv.prerelease is allow"},
	"not managed":                 {root, "[tool.uv.workspace]", "[tool.uv]\nmanaged = false\n[tool.uv.workspace]", ""},
	"a requirement that is none":  {root, `"one",`, `"one", "??",`, ""},
	"a form of patterns not read": {root, `"packages/*"`, `"packages/**"`, ""},
}

// changed is a copy of the workspace with a change.
func changed(t *testing.T, c change) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "workspace"))); err != nil {
		t.Fatal(err)
	}
	text := ""
	if data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.file))); err == nil {
		text = string(data)
	} else if c.old != "" {
		t.Fatal(err)
	}
	if !strings.Contains(text, c.old) {
		t.Fatalf("%s has no %s", c.file, c.old)
	}
	write(t, dir, c.file, strings.Replace(text, c.old, c.new, 1))
	return dir
}

func TestUVSentences(t *testing.T) {
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			ours := checkUV(t, changed(t, c))
			if all := strings.Join(ours, "\n"); c.says == "" && ours != nil || !strings.Contains(all, c.says) {
				t.Errorf("lacks %q: %s", c.says, all)
			}
		})
	}
}

// Of the same changes uv thinks the same.
func TestUVSentencesAreUVs(t *testing.T) {
	u := newUV(t)
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			theirs, why := u.check(t, changed(t, c))
			switch {
			case theirs == satisfied && c.says != "":
				t.Error("uv is satisfied")
			case theirs == stale && c.says == "":
				t.Logf("only uv sees it: %s", why)
			case theirs == refused:
				t.Logf("uv refuses the manifest: %s", why)
			}
		})
	}
}

// A pair that was in order is remembered, until one of the files changes.
func TestVerifyUV(t *testing.T) {
	dir := changed(t, changes["nothing"])
	lock := filepath.Join(dir, "uv.lock")
	data, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	memory := filepath.Join(t.TempDir(), "memory")
	verify := func(path string) error { return satisfy.VerifyUV(path, data, memory) }
	for range 2 {
		if err := verify(lock); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(memory); err != nil || len(entries) != 1 {
		t.Fatalf("%d pairs are remembered, %v", len(entries), err)
	}
	for _, name := range []string{"pyproject.toml", "packages/two/pyproject.toml", "lib/pyproject.toml", "packages/new/pyproject.toml"} {
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		write(t, dir, name, "[project]\nname = \"else\"\nversion = \"7\"\n")
		err = verify(lock)
		var staleErr *satisfy.StaleError
		if !errors.As(err, &staleErr) || !strings.Contains(err.Error(), "next: run `uv lock` in "+dir) {
			t.Errorf("%s: %v", name, err)
		}
		if old == nil {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, dir, name, string(old))
		}
		if err := verify(lock); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "pyproject.toml", "[project\n")
	if err := verify(lock); !errors.Is(err, project.ErrManifest) {
		t.Errorf("no TOML: %v", err)
	}
	// Locks of other names and formats are not judged, nor is one without a manifest.
	if err := verify(filepath.Join(dir, "other.lock")); err != nil {
		t.Error(err)
	}
	if err := satisfy.VerifyUV(lock, []byte("lock-version = \"1.0\"\n"), memory); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "pyproject.toml")); err != nil {
		t.Fatal(err)
	}
	if err := verify(lock); err != nil {
		t.Error(err)
	}
}
