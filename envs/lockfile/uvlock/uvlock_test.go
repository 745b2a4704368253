package uvlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sample has every kind of source.
const sample = `version = 1
revision = 3
requires-python = ">=3.10"

[[package]]
name = "app"
version = "0.1.0"
source = { editable = "." }
dependencies = [
    { name = "by-git" },
    { name = "by-url", extra = ["fast"] },
    { name = "by-path" },
    { name = "sdist-only", marker = "sys_platform == 'linux'" },
    { name = "lib" },
    { name = "meta" },
    { name = "wheels" },
    { name = "windows", marker = "sys_platform == 'win32'" },
]

[package.optional-dependencies]
gpu = [
    { name = "no-fit" },
]

[package.dev-dependencies]
dev = [
    { name = "by-path" },
]

[[package]]
name = "by-git"
version = "2.0"
source = { git = "https://git.example/repo?subdirectory=python&tag=v2#a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1" }

[[package]]
name = "by-path"
version = "1.0"
source = { path = "dist/by_path-1.0-py3-none-any.whl" }
wheels = [
    { filename = "by_path-1.0-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "by-url"
version = "1.0+cu121"
source = { url = "https://files.example/by_url-1.0%2Bcu121-py3-none-any.whl" }
wheels = [
    { url = "https://files.example/by_url-1.0%2Bcu121-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[package.optional-dependencies]
fast = [
    { name = "wheels" },
]

[[package]]
name = "lib"
source = { directory = "../lib" }

[[package]]
name = "meta"
version = "0"
source = { virtual = "meta" }
dependencies = [
    { name = "wheels" },
]

[[package]]
name = "no-fit"
version = "1"
source = { registry = "https://user:secret@pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/no_fit-1-cp39-cp39-manylinux_2_17_x86_64.whl", hash = "sha256:` + digest + `" },
    { url = "https://files.pypi.example/no_fit-1-cp312-cp312-manylinux_2_34_x86_64.whl", hash = "sha256:` + digest + `" },
    { url = "https://files.pypi.example/no_fit-1-cp312-cp312-win_amd64.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "sdist-only"
version = "1"
source = { registry = "https://pypi.example/simple" }
sdist = { url = "https://files.pypi.example/sdist_only-1.tar.gz", hash = "sha256:` + digest + `", size = 7 }

[[package]]
name = "wheels"
version = "1"
source = { registry = "https://user:secret@pypi.example/simple" }
sdist = { url = "https://files.pypi.example/wheels-1.tar.gz", hash = "sha256:` + digest + `" }
wheels = [
    { url = "https://files.pypi.example/wheels-1-py3-none-any.whl", hash = "sha256:` + digest + `", size = 5, upload-time = "2024-01-02T03:04:05Z" },
    { url = "https://files.pypi.example/wheels-1-cp312-cp312-manylinux_2_28_x86_64.whl", hash = "sha256:` + digest + `", size = 6 },
]

[[package]]
name = "windows"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/windows-1-py3-none-any.whl", hash = "sha256:` + digest + `" },
]
`

// exclusive has extras that exclude one another.
const exclusive = `version = 1
requires-python = ">=3.10"
conflicts = [[
    { package = "app", extra = "cpu" },
    { package = "app", extra = "gpu" },
]]

[[package]]
name = "app"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "core" },
]

[package.optional-dependencies]
cpu = [
    { name = "t", version = "1+cpu", source = { registry = "https://pypi.example/simple" } },
]
gpu = [
    { name = "t", version = "1+gpu", source = { registry = "https://pypi.example/simple" } },
]

[[package]]
name = "core"
version = "1"
source = { registry = "https://pypi.example/simple" }
dependencies = [
    { name = "t", version = "1+cpu", source = { registry = "https://pypi.example/simple" }, marker = "extra == 'extra-3-app-cpu' or (extra == 'extra-3-app-cpu' and extra == 'extra-3-app-gpu')" },
]
wheels = [
    { url = "https://files.pypi.example/core-1-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "t"
version = "1+cpu"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/t-1%2Bcpu-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "t"
version = "1+gpu"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/t-1%2Bgpu-py3-none-any.whl", hash = "sha256:` + digest + `" },
]
`

func target(t testing.TB) *python.Target {
	t.Helper()
	target, err := python.NewTarget("linux-64", "3.12.4", false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func choose(t testing.TB, text string, s python.Selection) ([]*lockfile.PyPIPackage, error) {
	t.Helper()
	lock, err := uvlock.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return lock.Select(target(t), s, uvlock.Options{})
}

func TestEverySource(t *testing.T) {
	got, err := choose(t, sample, python.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*lockfile.PyPIPackage{
		{Name: "app", Version: "0.1.0", Kind: lockfile.PyPIDirectory, Location: ".", URL: ".", Local: true, Direct: true, Editable: true, Line: 5},
		{Name: "by-git", Version: "2.0", Kind: lockfile.PyPIGit, Location: "https://git.example/repo?subdirectory=python&tag=v2#a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", URL: "https://git.example/repo",
			Direct: true, Commit: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", Ref: "v2", Subdirectory: "python", Line: 30},
		{Name: "by-path", Version: "1.0", Kind: lockfile.PyPIWheel, Location: "dist/by_path-1.0-py3-none-any.whl", URL: "dist/by_path-1.0-py3-none-any.whl", Local: true, Direct: true,
			FileName: "by_path-1.0-py3-none-any.whl", SHA256: digest, Line: 35},
		{Name: "by-url", Version: "1.0+cu121", Kind: lockfile.PyPIWheel, Location: "https://files.example/by_url-1.0%2Bcu121-py3-none-any.whl", URL: "https://files.example/by_url-1.0%2Bcu121-py3-none-any.whl",
			Direct: true, FileName: "by_url-1.0+cu121-py3-none-any.whl", SHA256: digest, Extras: []string{"fast"}, Line: 43},
		{Name: "lib", Kind: lockfile.PyPIDirectory, Location: "../lib", URL: "../lib", Local: true, Direct: true, Line: 56},
		{Name: "sdist-only", Version: "1", Kind: lockfile.PyPISdist, Location: "https://files.pypi.example/sdist_only-1.tar.gz", URL: "https://files.pypi.example/sdist_only-1.tar.gz",
			FileName: "sdist_only-1.tar.gz", SHA256: digest, Size: 7, Index: "https://pypi.example/simple", Line: 78},
		{Name: "wheels", Version: "1", Kind: lockfile.PyPIWheel, Location: "https://files.pypi.example/wheels-1-cp312-cp312-manylinux_2_28_x86_64.whl", URL: "https://files.pypi.example/wheels-1-cp312-cp312-manylinux_2_28_x86_64.whl",
			FileName: "wheels-1-cp312-cp312-manylinux_2_28_x86_64.whl", SHA256: digest, Size: 6, Index: "https://pypi.example/simple", Line: 84},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that cannot be had is named at once, each wheel with its reason.
func TestNoWheelFits(t *testing.T) {
	_, err := choose(t, sample, python.Selection{AllExtras: true})
	if !errors.Is(err, lockfile.ErrLock) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"line 68", "package `no-fit` 1", "Python 3.12.4 on linux-64 with glibc 2.28",
		"no_fit-1-cp39-cp39-manylinux_2_17_x86_64.whl is for Python cp39 (cp39)", "no_fit-1-cp312-cp312-manylinux_2_34_x86_64.whl needs glibc 2.34", "is for win_amd64",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("it tells a password: %v", err)
	}
}

func TestExclusive(t *testing.T) {
	for _, c := range []struct {
		extras []string
		want   string
	}{{nil, "core 1"}, {[]string{"cpu"}, "core 1, t 1+cpu"}, {[]string{"gpu"}, "core 1, t 1+gpu"}} {
		got, err := choose(t, exclusive, python.Selection{Extras: c.extras})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range got {
			names = append(names, p.Name+" "+p.Version)
		}
		if text := strings.Join(names, ", "); text != c.want {
			t.Errorf("%v: %s, want %s", c.extras, text, c.want)
		}
	}
	_, err := choose(t, exclusive, python.Selection{AllExtras: true})
	if !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "extra `cpu` of `app` and extra `gpu` of `app` exclude one another") {
		t.Errorf("%v", err)
	}
}

// The files of an index that is a directory lie below it, relative to the lock.
func TestDirectoryIndex(t *testing.T) {
	text := strings.NewReplacer("https://pypi.example/simple", "../links/", "url = \"https://files.pypi.example/", "path = \"", ", hash = \"sha256:"+digest+"\"", "", "%2B", "+").Replace(exclusive)
	got, err := choose(t, text, python.Selection{Extras: []string{"gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &lockfile.PyPIPackage{Name: "core", Version: "1", Kind: lockfile.PyPIWheel, Location: "../links/core-1-py3-none-any.whl", URL: "../links/core-1-py3-none-any.whl",
		Local: true, FileName: "core-1-py3-none-any.whl", Index: "../links", Line: 24}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// uv writes no hash of them; what is told to do makes it write one.
	p := &lockfile.Platform{Name: "linux-64", Subdir: "linux-64", PyPI: got}
	if err := p.Validate(); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "core-1-py3-none-any.whl (line 24)") || !strings.Contains(err.Error(), "name the wheel itself") || strings.Contains(err.Error(), "from an index") {
		t.Errorf("without hashes: %v", err)
	}
}

func TestRefusedSelections(t *testing.T) {
	for want, s := range map[string]python.Selection{
		"no extra `tpu`; it has gpu":             {Extras: []string{"tpu"}},
		"no dependency group `docs`; it has dev": {Groups: []string{"docs"}},
		"no member `other`; it has app":          {Package: "other"},
	} {
		if _, err := choose(t, sample, s); !errors.Is(err, python.ErrSelection) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", s, err, want)
		}
	}
	lock, err := uvlock.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	old, err := python.NewTarget("linux-64", "3.9.1", false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Select(old, python.Selection{}, uvlock.Options{}); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), ">=3.10") {
		t.Errorf("%v", err)
	}
}

// Mistakes are named with line and key.
func TestRefusedLocks(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"version = 1\n", "version = 2\n", "line 1: `version` is 2, this hpcenv reads 1"},
		{"version = 1\n", "", "line 1: it has no `version`"},
		{"requires-python = \">=3.10\"\n", "", "line 1: `requires-python` is missing"},
		{"requires-python = \">=3.10\"", "requires-python = \"3.10\"", "line 3: `requires-python`"},
		{"source = { editable = \".\" }\n", "", "line 5: package `app`: `source` is missing"},
		{"editable = \".\"", "novel = \".\"", "line 8: `source` has none of"},
		{"sys_platform == 'linux'", "sys_platform = 'linux'", "line 13: `marker`"},
		{"name = \"lib\" }", "name = \"lost\" }", "line 14: package `app` depends on `lost`"},
		{"hash = \"sha256:" + digest, "hash = \"sha256:12", "`hash`: `12` is not the hex digest of sha256"},
		{"wheels-1-py3-none-any.whl", "other-1-py3-none-any.whl", "is not one of `wheels`"},
		{"wheels-1-py3-none-any.whl", "wheels-2-py3-none-any.whl", "is not of version 1"},
		{"size = 7", "size = \"7\"", "line 82: `size` must be a whole number, it is a text"},
		{"[[package]]\nname = \"lib\"\n", "[[package]]\nname = \"meta\"\nversion = \"0\"\nsource = { virtual = \"meta\" }\n[[package]]\nname = \"lib\"\n", "package `meta` 0 is there twice"},
		{"name = \"wheels\"\nversion = \"1\"", "name = \"wheels\"", "`version`"},
		{"[[package]]\nname = \"lib\"", "[[package]]\nname = \"../Lib\"", "`name`: \"../Lib\" is no name"},
		{"sys_platform == 'linux'", strings.Repeat("(", 1e5) + "x", "line 13: `marker`"},
		{"requires-python = \">=3.10\"", "requires-python = \"" + strings.Repeat("3.", 1e5) + "\"", "line 3: `requires-python`"},
		{"name = \"wheels\"\nversion = \"1\"", "name = \"wheels\"\nversion = \"" + strings.Repeat("1", 1e5) + "\"", "is not of version 111"},
		{"hash = \"sha256:" + digest, "hash = \"sha256:" + strings.Repeat("1", 1e5), "is not the hex digest of sha256"},
		{"[[package]]\nname = \"lib\"", "[[package]\nname = \"lib\"", "it is not TOML: line 56"},
	} {
		text := strings.Replace(sample, c.old, c.new, 1)
		if text == sample {
			t.Fatalf("%q is not in the sample", c.old)
		}
		if _, err := uvlock.Parse([]byte(text)); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
			t.Errorf("%.200q: %.800v, want %q in it", c.new, err, c.want)
		}
	}
	text := strings.ReplaceAll(sample, ", hash = \"sha256:"+digest+"\"", "")
	if _, err := choose(t, text, python.Selection{}); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "3 of 7 packages") || !strings.Contains(err.Error(), "no sha256 of sdist_only-1.tar.gz") {
		t.Errorf("without hashes: %v", err)
	}
	if _, err := choose(t, strings.Replace(sample, "#a1a1", "#a1", 1), python.Selection{}); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "names no commit") {
		t.Errorf("without a commit: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "{[] false} nil", "[tool.uv]\ndefault-groups = [\"Dev_A\"]\n": "{[dev-a] false}", "[tool.uv]\ndefault-groups = \"all\"\n": "{[] true} nil", "[tool.uv]\ndefault-groups = []\n": "{[] false}",
	} {
		got, err := uvlock.Defaults([]byte(text))
		if err != nil {
			t.Error(err)
		}
		shown := fmt.Sprintf("%v", got)
		if got.DefaultGroups == nil {
			shown += " nil"
		}
		if shown != want {
			t.Errorf("%q: %s, want %s", text, shown, want)
		}
	}
	if _, err := uvlock.Defaults([]byte("\n[tool.uv]\ndefault-groups = 1\n")); err == nil || errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v", err)
	}
}
