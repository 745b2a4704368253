package editable_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func sample(t testing.TB) *editable.Project {
	t.Helper()
	p, err := read(t, map[string]string{"pyproject.toml": pyproject("hatchling.build", "[project.scripts]\ncmd = \"p:main\""), "p/__init__.py": ""})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func overlay(t testing.TB, prefixes map[string]string, projects ...*editable.Project) *editable.Overlay {
	t.Helper()
	o, err := editable.New(projects, prefixes)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDigest(t *testing.T) {
	p := sample(t)
	one := overlay(t, map[string]string{"": "/opt/e/a"}, p)
	if same := overlay(t, map[string]string{"": "/opt/e/a"}, p); same.Digest != one.Digest || len(one.Digest) != 32 {
		t.Errorf("%s and %s", same.Digest, one.Digest)
	}
	seen := map[string]bool{one.Digest: true}
	for name, o := range map[string]*editable.Overlay{
		"prefix": overlay(t, map[string]string{"": "/opt/e/b"}, p), "tree": overlay(t, map[string]string{"": "/opt/e/a"}, sample(t)),
		"platforms": overlay(t, map[string]string{"linux-64": "/opt/e/a"}, p),
	} {
		if seen[o.Digest] {
			t.Errorf("%s does not show in the digest", name)
		}
		seen[o.Digest] = true
	}
	own := overlay(t, map[string]string{"linux-64": "/s/trees/linux-64/a", "linux-aarch64": "/s/trees/linux-aarch64/a"}, p)
	for platform, prefix := range map[string]string{"linux-64": "/s/trees/linux-64/a", "linux-aarch64": "/s/trees/linux-aarch64/a"} {
		if f := own.Files[platform+"/bin/cmd"]; !f.Exec || !strings.HasPrefix(string(f.Data), "#!"+prefix+"/bin/python\n") {
			t.Errorf("%s: %q", platform, f.Data)
		}
	}
}

func TestWriteOnceByMany(t *testing.T) {
	root, o := t.TempDir(), overlay(t, map[string]string{"": "/opt/e/a"}, sample(t))
	var dirs [8]string
	var wg sync.WaitGroup
	for i := range dirs {
		wg.Go(func() {
			var err error
			if dirs[i], err = o.Write(root, "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, d := range dirs {
		if d != filepath.Join(root, "a", o.Digest) {
			t.Errorf("%s", d)
		}
	}
	before, err := os.Stat(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	// What Python adds does not matter.
	if err := os.Mkdir(filepath.Join(dirs[0], editable.Site, "__pycache__"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write(root, "a"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(dirs[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "a"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

func TestDamagedIsMadeAgain(t *testing.T) {
	root, o := t.TempDir(), overlay(t, map[string]string{"": "/opt/e/a"}, sample(t))
	dir, err := o.Write(root, "a")
	if err != nil {
		t.Fatal(err)
	}
	cmd := filepath.Join(dir, "bin", "cmd")
	want, err := os.ReadFile(cmd)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"changed": func() error { return os.WriteFile(cmd, []byte("#!/bin/sh\n"), 0o755) },
		"mode":    func() error { return os.Chmod(cmd, 0o644) },
		"gone":    func() error { return os.Remove(cmd) },
		"link":    func() error { return os.Rename(cmd, cmd+"2") },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write(root, "a"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(cmd)
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if got, err := os.ReadFile(cmd); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestTwoProjects(t *testing.T) {
	a, b := sample(t), sample(t)
	if _, err := editable.New([]*editable.Project{a, b}, map[string]string{"": "/p"}); err == nil || !strings.Contains(err.Error(), "both it and") {
		t.Errorf("one file of two projects: %v", err)
	}
}

func TestRoot(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/a/b":                      {"HPCENV_OVERLAYS": "/a/b/", "HOME": "/h"},
		"/c/hpcenv/overlays":        {"XDG_CACHE_HOME": "/c", "HOME": "/h"},
		"/h/.cache/hpcenv/overlays": {"XDG_CACHE_HOME": "relative", "HOME": "/h"},
		"! no absolute":             {"HPCENV_OVERLAYS": "x"},
		"! HOME is not set":         {},
	} {
		got, err := editable.Root(func(n string) string { return env[n] })
		if strings.HasPrefix(want, "! ") {
			if err == nil {
				t.Errorf("%v: %s", env, got)
			}
		} else if got != want {
			t.Errorf("%v: %s, %v", env, got, err)
		}
	}
}

func TestWish(t *testing.T) {
	dir := tree(t, map[string]string{"pyproject.toml": pyproject("hatchling.build", ""), "p/__init__.py": "", "sub/pyproject.toml": strings.ReplaceAll(pyproject("uv_build", ""), `"p"`, `"q"`)})
	trees := []lockfile.SourceTree{{Name: "P", Location: "./", Line: 3}, {Name: "q", Location: "file://" + dir + "/sub", Editable: true}}
	w := editable.Wish{Lock: filepath.Join(dir, "pixi.lock"), Trees: trees}
	_, err := w.Projects()
	if err == nil || !strings.Contains(err.Error(), "2 projects") || !strings.Contains(err.Error(), "P ("+dir+"): the manifest asks for a copy") || !strings.Contains(err.Error(), "q ("+dir+"/sub): there is no src/q/__init__.py") {
		t.Errorf("not all that is refused is named: %v", err)
	}
	w.Trees, w.Editable = trees[:1], map[string]bool{"p": true}
	home := t.TempDir()
	a, err := w.Apply("id", map[string]string{"": "/opt/e/id"}, func(n string) string { return map[string]string{"HOME": home}[n] })
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(a.Dir) != filepath.Join(home, ".cache/hpcenv/overlays/id") || a.For("linux-64") != a.Dir || len(a.Sources(t.Context())) != 1 || a.Sources(t.Context())[0].Unknown != "not in a git repository" {
		t.Errorf("%+v", a)
	}
	w.Trees = nil
	if a, err := w.Apply("id", nil, func(string) string { return "" }); a != nil || err != nil {
		t.Errorf("without trees: %+v, %v", a, err)
	}
}

func TestOthersFilesAreNotRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: a directory of another user cannot be made here")
	}
	root, o := t.TempDir(), overlay(t, map[string]string{"": "/opt/e/a"}, sample(t))
	dir, err := o.Write(root, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chown(d, 54321, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write(root, "a"); err == nil || !strings.Contains(err.Error(), d+" belongs to the user 54321") || !strings.Contains(err.Error(), "next: ") {
			t.Errorf("%s: %v", d, err)
		}
		if err := os.Chown(d, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
