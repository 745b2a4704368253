package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/project"
)

func TestFindLock(t *testing.T) {
	dir := write(t, "pixi.lock", "", "a/b/x", "", "c/pixi.lock", "", "other.lock", "", "e/pixi.lock/x", "")
	for _, c := range []struct{ at, start, want string }{
		{".", "", "pixi.lock"},
		{"a/b", "", "pixi.lock"},
		{"c", "", "c/pixi.lock"},
		{"a/b", "../..", "pixi.lock"},
		{".", "c", "c/pixi.lock"},
		{".", "c/", "c/pixi.lock"},
		{".", "other.lock", "other.lock"},
		{"a", filepath.Join(dir, "c"), "c/pixi.lock"},
	} {
		t.Chdir(filepath.Join(dir, c.at))
		got, note, err := project.FindLock(c.start)
		if want := filepath.Join(dir, c.want); err != nil || got != want || note != "" {
			t.Errorf("in %s, %q: %s, %q, %v, want %s", c.at, c.start, got, note, err, want)
		}
	}
	for _, c := range []struct {
		start string
		says  []string
	}{
		{"a/b", []string{filepath.Join(dir, "a", "b"), "pixi.lock", "`pixi lock`", filepath.Join(dir, "pixi.lock")}},
		{"gone", []string{filepath.Join(dir, "gone"), "does not exist", "next:"}},
		{"e", []string{"not a regular file", "next:"}},
		{"/dev/null", []string{"neither a file nor a directory", "next:"}},
	} {
		t.Chdir(dir)
		_, _, err := project.FindLock(c.start)
		if !errors.Is(err, project.ErrNoLock) {
			t.Fatalf("%q: %v", c.start, err)
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q: %v", c.start, part, err)
			}
		}
	}
	t.Chdir("/")
	if _, _, err := project.FindLock(""); !errors.Is(err, project.ErrNoLock) || !strings.Contains(err.Error(), "any directory above") {
		t.Errorf("%v", err)
	}
}

func TestFindLockBehindAFile(t *testing.T) {
	dir := write(t, "file", "")
	if _, _, err := project.FindLock(filepath.Join(dir, "file", "sub")); err == nil {
		t.Error("no error")
	}
}

// TestFindOtherLocks: which of several counts, and what is said about it.
func TestFindOtherLocks(t *testing.T) {
	for _, c := range []struct {
		files, at, start, want string
		// note: parts of it; "" = nothing is said.
		note string
	}{
		{"pixi.lock conda-lock.yml uv.lock pylock.toml pylock.a.toml", ".", "", "pixi.lock", ""},
		{"conda-lock.yml uv.lock pylock.toml", ".", ".", "conda-lock.yml", ""},
		{"uv.lock pylock.toml", ".", "", "uv.lock", "the lock is DIR/uv.lock, as there is no pixi.lock or conda-lock.yml beside it"},
		{"pylock.a.toml pylock.toml pylock.b.toml", ".", "", "pylock.toml", "DIR/pylock.toml"},
		{"pylock.a.toml pylock.a.b.toml mypylock.a.toml", ".", "", "pylock.a.toml", "DIR/pylock.a.toml"},
		{"pixi.lock a/uv.lock", "a", "", "a/uv.lock", "as there is no pixi.lock or conda-lock.yml beside it; if another was meant, name it: DIR/pixi.lock"},
		{"uv.lock", ".", "uv.lock", "uv.lock", ""}, // named, not chosen
		{"a/b/x uv.lock", "a/b", "", "uv.lock", "DIR/uv.lock"},
	} {
		var files []string
		for _, name := range strings.Fields(c.files) {
			files = append(files, name, "")
		}
		dir := write(t, files...)
		t.Chdir(filepath.Join(dir, c.at))
		got, note, err := project.FindLock(c.start)
		if err != nil || got != filepath.Join(dir, c.want) {
			t.Errorf("%s: %s, %v", c.files, got, err)
		}
		if part := strings.ReplaceAll(c.note, "DIR", dir); (note == "") != (part == "") || !strings.Contains(note, part) {
			t.Errorf("%s: it is said %q, not %q", c.files, note, part)
		}
	}
	t.Chdir(write(t, "pylock.a.toml", "", "pylock.b.toml", ""))
	_, _, err := project.FindLock("")
	if !errors.Is(err, project.ErrNoLock) || !strings.Contains(err.Error(), "pylock.a.toml, pylock.b.toml") {
		t.Errorf("%v", err)
	}
}

// TestEnvironmentYMLAlone: `pixi lock` does nothing in a directory that has no
// manifest but an environment.yml.
func TestEnvironmentYMLAlone(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const step = "next: `pixi init --import environment.yaml` makes a project"
	file("environment.yaml")
	t.Chdir(dir)
	for _, start := range []string{"", dir} {
		if _, _, err := project.FindLock(start); !errors.Is(err, project.ErrNoLock) || !strings.Contains(err.Error(), step) {
			t.Errorf("%q: %v", start, err)
		}
	}
	file("pixi.toml")
	if _, _, err := project.FindLock(dir); !errors.Is(err, project.ErrNoLock) || !strings.Contains(err.Error(), "next: run `pixi lock` in it") {
		t.Error(err)
	}
}
