package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/contrib/demo/channel"
	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/contrib/demo/recipe"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"explode"}, {"make"}, {"project", "--channel", "x"}, {"serve", "--fault", "no"},
		{"project", "--channel", "x", "--out", "y", "z"}} {
		if err := run(t.Context(), args); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}

// TestProject writes the locks of a small channel and reads them back.
func TestProject(t *testing.T) {
	if _, err := exec.LookPath("bzip2"); err != nil {
		t.Skip("bzip2 IS NOT INSTALLED")
	}
	var packages []*condapkg.Package
	for _, n := range []string{"python", "numpy", "six", "packaging", "ca-certificates",
		recipe.NamePrefix, recipe.NameHello, recipe.NameArch, recipe.NameEnv, recipe.NameTool, recipe.NameGex} {
		packages = append(packages, &condapkg.Package{Name: n, Version: "1.0", Build: "h0_0", Subdir: "noarch", Noarch: "generic"})
	}
	dir := t.TempDir()
	if _, err := channel.Write(t.Context(), filepath.Join(dir, "channel"), "3.11", packages); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"", "path", "http://conda.example/demo"} {
		out := filepath.Join(dir, "project")
		if err := run(t.Context(), []string{"project", "--channel", filepath.Join(dir, "channel"), "--out", out, "--base", base}); err != nil {
			t.Fatal(err)
		}
		for sub, want := range map[string][2]int{".": {6, 3}, "v7": {7, 3}, "small": {6, 1}, "x86only": {6, 1}} {
			text, err := os.ReadFile(filepath.Join(out, sub, "pixi.lock"))
			if err != nil {
				t.Fatal(err)
			}
			lock, err := lockfile.Parse(text)
			if err != nil {
				t.Fatalf("base %q, %s: %v", base, sub, err)
			}
			if lock.Version != want[0] || len(lock.Environments) != want[1] {
				t.Errorf("base %q, %s: version %d with %d environments, want %v", base, sub, lock.Version, len(lock.Environments), want)
			}
			if n := len(lock.Environments[0].Platforms); (n == 1) != (sub == "x86only") {
				t.Errorf("base %q, %s: %d platforms", base, sub, n)
			}
			if loc := lock.Environments[0].Platforms[0].Conda[0].Location; base == "path" && !strings.HasPrefix(loc, "../") {
				t.Errorf("%s: location %s is no relative path", sub, loc)
			}
		}
	}
	err := run(t.Context(), []string{"project", "--channel", filepath.Join(dir, "channel"), "--out", dir, "--base", "nonsense"})
	if !errors.Is(err, errUsage) {
		t.Errorf("a base that is neither URL nor path: %v", err)
	}
}
