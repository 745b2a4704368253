package pylock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pylock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

const sample = `lock-version = "1.0"
created-by = "test"
requires-python = ">=3.11"
environments = ["sys_platform == 'linux'"]
extras = ["gpu"]
dependency-groups = ["docs"]
default-groups = ["main"]

[[packages]]
name = "app"
directory = { path = ".", editable = true }

[[packages]]
name = "cuda"
version = "12.4"
marker = "'gpu' in extras"
index = "https://user:secret@pypi.example/simple/"
wheels = [
    { url = "https://files.pypi.example/cuda-12.4-cp312-cp312-manylinux_2_34_x86_64.whl", hashes = { sha256 = "` + digest + `" } },
]

[[packages]]
name = "repo"
vcs = { type = "git", url = "https://git.example/repo", requested-revision = "v1", commit-id = "A1A1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", subdirectory = "python" }

[[packages]]
name = "tool"
version = "1"
marker = "'docs' in dependency_groups or 'main' in dependency_groups"
requires-python = ">=3.9"
wheels = [
    { name = "tool-1-py3-none-any.whl", path = "wheels/x", url = "https://files.pypi.example/x", size = 5, hashes = { sha256 = "` + digest + `", sha512 = "12" } },
]
`

func linux64(t *testing.T) *python.Target {
	t.Helper()
	target, err := python.NewTarget("linux-64", "3.12.4", false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestEveryOrigin(t *testing.T) {
	lock, err := pylock.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	got, err := lock.Select(linux64(t), python.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*lockfile.PyPIPackage{
		{Name: "app", Kind: lockfile.PyPIDirectory, Location: ".", URL: ".", Local: true, Direct: true, Editable: true, Line: 9},
		{Name: "repo", Kind: lockfile.PyPIGit, Location: "https://git.example/repo", URL: "https://git.example/repo", Direct: true, Ref: "v1",
			Commit: strings.Repeat("a1", 20), Subdirectory: "python", Line: 22},
		// The path is taken before the URL.
		{Name: "tool", Version: "1", Kind: lockfile.PyPIWheel, Location: "wheels/x", URL: "wheels/x", Local: true, FileName: "tool-1-py3-none-any.whl", SHA256: digest, Size: 5, RequiresPython: ">=3.9", Line: 26},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusedSelections(t *testing.T) {
	lock, err := pylock.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s     python.Selection
		class error
		want  string
	}{
		{python.Selection{Extras: []string{"tpu"}}, python.ErrSelection, "no extra `tpu`; it has gpu"},
		{python.Selection{Groups: []string{"dev"}}, python.ErrSelection, "no dependency group `dev`; it has docs, main"},
		{python.Selection{Package: "app"}, python.ErrSelection, "no members"},
		{python.Selection{AllExtras: true}, lockfile.ErrLock, "line 13: package `cuda` 12.4: no wheel is for Python 3.12.4 on linux-64 with glibc 2.28"},
		{python.Selection{AllExtras: true}, lockfile.ErrLock, "needs glibc 2.34"},
	} {
		_, err := lock.Select(linux64(t), c.s)
		if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, want %q in it", c.s, err, c.want)
		}
	}
}

// Mistakes are named with line and key.
func TestRefusedLocks(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`lock-version = "1.0"`, `lock-version = "2.0"`, "line 1: `lock-version` is 2.0, this hpcenv reads 1.x"},
		{"created-by = \"test\"\n", "", "`created-by` is missing"},
		{"'linux'", "linux", "line 4: `environments`"},
		{`extras = ["gpu"]`, `extras = ["GPU"]`, "line 5: `extras`: `GPU` is no normalized name"},
		{`name = "app"`, `name = "App"`, "line 10: `name`"},
		{`directory = { path = "."`, `directory = { editable = true }, x = { path = "."`, "it is not TOML: line 11"},
		{`directory = { path = ".", editable = true }`, ``, "line 9: package `app`: none of"},
		{`version = "12.4"`, `version = "12.5"`, "line 19: package `cuda`: the wheel"},
		{`'gpu' in extras`, `'gpu' == extras`, "line 16: `marker`"},
		{"type = \"git\"", "type = \"svn\"", "line 24: package `repo`: `vcs`: a repository of `svn` cannot be used"},
		{"A1A1a1", "A1", "line 24: package `repo`: `commit-id`"},
		{`size = 5`, `size = -5`, "line 32: `size` must be a whole number from 0 on"},
		{`, hashes = { sha256 = "` + digest + `" }`, ``, "line 19: package `cuda`: `hashes` is missing"},
		{`sha256 = "` + digest + `" }`, `sha256 = "12" }`, "line 19: package `cuda`: `hashes`: `12` is not the hex digest of sha256"},
		{`path = "wheels/x", url = "https://files.pypi.example/x", `, ``, "line 32: package `tool`: neither `path` nor `url`"},
	} {
		text := strings.Replace(sample, c.old, c.new, 1)
		if text == sample {
			t.Fatalf("%q is not in the sample", c.old)
		}
		if _, err := pylock.Parse([]byte(text)); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q in it", c.new, err, c.want)
		}
	}
}
