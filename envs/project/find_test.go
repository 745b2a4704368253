package project_test

import (
	"errors"
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
		got, err := project.FindLock(c.start)
		if want := filepath.Join(dir, c.want); err != nil || got != want {
			t.Errorf("in %s, %q: %s, %v, want %s", c.at, c.start, got, err, want)
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
		_, err := project.FindLock(c.start)
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
	if _, err := project.FindLock(""); !errors.Is(err, project.ErrNoLock) || !strings.Contains(err.Error(), "any directory above") {
		t.Errorf("%v", err)
	}
}

func TestFindLockBehindAFile(t *testing.T) {
	dir := write(t, "file", "")
	if _, err := project.FindLock(filepath.Join(dir, "file", "sub")); err == nil {
		t.Error("no error")
	}
}
