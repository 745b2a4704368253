package satisfy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

const (
	goodLock = `version: 6
environments:
  default:
    channels:
    - url: https://conda.example/c/
    packages:
      linux-64:
      - conda: https://conda.example/c/linux-64/a-1.0-0.conda
packages:
- conda: https://conda.example/c/linux-64/a-1.0-0.conda
  sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
`
	goodManifest = "[workspace]\nname=\"w\"\nchannels=[\"c\"]\nplatforms=[\"linux-64\"]\n[dependencies]\na=\"*\"\n"
)

func load(t *testing.T, dir, manifest string) *project.Project {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "pixi.toml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	memory := filepath.Join(dir, "memory")
	path := filepath.Join(dir, "pixi.lock")
	marks := func() int {
		entries, err := os.ReadDir(memory)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(entries)
	}
	good := load(t, dir, goodManifest)
	for range 2 {
		if err := satisfy.Verify(good, path, []byte(goodLock), memory); err != nil {
			t.Fatal(err)
		}
	}
	if marks() != 1 {
		t.Errorf("%d pairs are remembered", marks())
	}
	bad := load(t, dir, goodManifest+"b=\">=2\"\n")
	err := satisfy.Verify(bad, path, []byte(goodLock), memory)
	var stale *satisfy.StaleError
	if !errors.As(err, &stale) || !errors.Is(err, satisfy.ErrStale) {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{path, "pixi.toml", "b is asked for and not locked (line 7)", "; next: run `pixi lock` in " + dir} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("lacks %q: %v", part, err)
		}
	}
	if marks() != 1 {
		t.Error("a stale lock is remembered")
	}
	// What was remembered long ago is forgotten when the next pair comes.
	entries, err := os.ReadDir(memory)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-365 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(memory, entries[0].Name()), old, old); err != nil {
		t.Fatal(err)
	}
	other := load(t, dir, goodManifest+"# other bytes\n")
	if err := satisfy.Verify(other, path, []byte(goodLock), memory); err != nil {
		t.Fatal(err)
	}
	if marks() != 1 {
		t.Errorf("%d pairs are remembered", marks())
	}
}

// A project beside a pixi.toml is looked at each time.
func TestVerifyTrees(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pyproject.toml", treeProject)
	p := load(t, dir, treeManifest)
	for _, c := range []struct {
		project string
		stale   bool
	}{{treeProject, false}, {treeProject, false}, {strings.Replace(treeProject, "1.0.0", "2", 1), true}, {treeProject, false}} {
		write(t, dir, "pyproject.toml", c.project)
		err := satisfy.Verify(p, filepath.Join(dir, "pixi.lock"), []byte(treeLock), filepath.Join(dir, "memory"))
		if errors.Is(err, satisfy.ErrStale) != c.stale || err != nil && !c.stale {
			t.Errorf("%.40s: %v", c.project, err)
		}
	}
}

// A memory that cannot be written, and bytes that are no lock, are no errors.
func TestVerifyIsQuiet(t *testing.T) {
	dir := t.TempDir()
	p := load(t, dir, goodManifest)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, memory := range []string{"", file, filepath.Join(file, "below")} {
		if err := satisfy.Verify(p, "pixi.lock", []byte(goodLock), memory); err != nil {
			t.Errorf("%q: %v", memory, err)
		}
	}
	for _, data := range []string{"", "version: 99\n", "{", "version = 1\n", "@EXPLICIT\nhttps://conda.example/c/noarch/a-1-0.conda\n", strings.Replace(goodLock, "version: 6", "version: 6\nenvironments: 3", 1)} {
		if err := satisfy.Verify(p, "pixi.lock", []byte(data), ""); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// A lock of another name may be another manifest's.
func TestOtherNamesAreNotJudged(t *testing.T) {
	p := load(t, t.TempDir(), goodManifest+"b=\"*\"\n")
	if err := satisfy.Verify(p, "/p/old.lock", []byte(goodLock), ""); err != nil {
		t.Error(err)
	}
}

// Each kind of difference has its sentence.
func TestSentences(t *testing.T) {
	replace := func(pairs ...string) (manifest, lock string) {
		manifest, lock = goodManifest, goodLock
		for i := 0; i < len(pairs); i += 2 {
			manifest = strings.ReplaceAll(manifest, pairs[i], pairs[i+1])
		}
		return manifest, lock
	}
	for name, c := range map[string]struct{ old, new, says string }{
		"channel":            {`"c"`, `"d"`, "the channel d of the manifest is not in the lock"},
		"channel, extra":     {`["c"]`, `[]`, "the lock has the channel https://conda.example/c, the manifest has not"},
		"channel by URL":     {`"c"`, `"https://user:secret@conda.example/c"`, ""},
		"channel, token":     {`"c"`, `"https://conda.example/t/secret/c/"`, ""},
		"channel, other":     {`"c"`, `"https://other.example/c"`, "is not in the lock"},
		"channel with order": {`"c"`, `{channel="c", priority=3}`, ""},
		"platform":           {`["linux-64"]`, `["linux-64","linux-aarch64"]`, "is not locked for the platform linux-aarch64"},
		"platform, other":    {`["linux-64"]`, `["osx-64"]`, "is locked for the platform linux-64, which the manifest does not have"},
		"platform, rich":     {`["linux-64"]`, `[{platform="linux-64",cuda="12"}]`, ""},
		"environment":        {"[dependencies]", "[environments]\nx=[]\n[dependencies]", `the manifest has the environment "x", the lock has not`},
		"version":            {`a="*"`, `a="<1"`, "`a <1` is asked for, and a 1.0 0 is locked"},
		"build":              {`a="*"`, `a={version="*",build="h*"}`, "is asked for, and a 1.0 0 is locked"},
		"build number":       {`a="*"`, `a={version="1.*",build-number=">0"}`, "is asked for, and a 1.0 0 is locked"},
		"sha256":             {`a="*"`, `a={sha256="` + strings.Repeat("b", 64) + `"}`, "is asked for, and a 1.0 0 is locked"},
		"md5, not locked":    {`a="*"`, `a={md5="` + strings.Repeat("b", 32) + `"}`, ""},
		"unknown form":       {`a="*"`, `a="1.0 @@ x"`, ""},
		"upper case":         {`a="*"`, `A="*"`, ""},
		"target, here":       {"[dependencies]", "[target.linux-64.dependencies]", ""},
		"target, stronger":   {"[dependencies]\na=\"*\"", "[dependencies]\na=\"2\"\n[target.unix.dependencies]\na=\"1.*\"", ""},
		"host dependency":    {"[dependencies]", "[host-dependencies]", ""},
		"run is stronger":    {"[dependencies]", "[host-dependencies]\na=\"2\"\n[dependencies]", ""},
		"source":             {`a="*"`, `a={path="."}`, ""},
		"python, unknown":    {"[dependencies]", "[pypi-dependencies]\nq=\"*\"\n[dependencies]", "the Python package q is asked for, and the lock was made without Python packages (line 6)"},
		"condition, not met": {`a="*"`, "a=\"*\"\nb={version=\"*\",when=\"__cuda >=12\"}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifest, lock := replace(c.old, c.new)
			err := satisfy.Verify(load(t, t.TempDir(), manifest), "pixi.lock", []byte(lock), "")
			switch {
			case c.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("lacks %q: %v", c.says, err)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("a credential: %v", err)
			}
		})
	}
}
