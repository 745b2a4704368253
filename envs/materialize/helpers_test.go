package materialize_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

const testPlatform = "linux-64"

var noScripts = materialize.Options{NoScripts: true}

// newStore makes a cluster's store with a prefix root.
func newStore(t testing.TB) *cache.Store {
	t.Helper()
	s, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{
		PrefixRoot: "/opt/hpcenv/e", Platforms: []string{testPlatform, "linux-aarch64"}, OwnerUID: os.Geteuid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ingest takes an archive into the store and makes its locked record from the
// package's own index.json.
func ingest(t testing.TB, s *cache.Store, archive string) (materialize.Package, error) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	base := filepath.Base(archive)
	format := cache.FormatConda
	if strings.HasSuffix(base, ".tar.bz2") {
		format = cache.FormatTarBz2
	}
	c := &lockfile.CondaPackage{
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), FileName: base,
		Channel: "https://conda.example/main",
	}
	var index struct {
		Name, Version, Build, Subdir string
		BuildNumber                  int64 `json:"build_number"`
		Noarch                       any
		Depends                      []string
	}
	interpret := func(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
		if data, err := raw.Read("info/index.json", 1<<20); err == nil {
			if err := json.Unmarshal(data, &index); err != nil {
				return nil, nil, nil, err
			}
		}
		return conda.Interpret(raw)
	}
	m, err := s.Ingest(context.Background(), archive, cache.Source{
		Name: base, URL: "file://" + archive, SHA256: c.SHA256, Size: c.Size, Format: format,
	}, interpret)
	if err != nil {
		return materialize.Package{}, err
	}
	c.Name, c.Version, c.Build, c.BuildNumber = index.Name, index.Version, index.Build, index.BuildNumber
	c.Subdir, c.Depends = index.Subdir, index.Depends
	if c.Noarch, _ = index.Noarch.(string); c.Noarch != "" {
		c.Subdir = "noarch"
	}
	if c.Subdir == "" {
		c.Subdir = testPlatform
	}
	c.Location = c.Channel + "/" + c.Subdir + "/" + base
	c.URL = c.Location
	return materialize.Package{Lock: c, Manifest: m}, nil
}

// build makes test packages and takes them into the store; every second one as
// .tar.bz2.
func build(t testing.TB, s *cache.Store, pkgs ...condatest.Package) []materialize.Package {
	t.Helper()
	dir := t.TempDir()
	var out []materialize.Package
	for i, p := range pkgs {
		archive, _ := p.Write(t, dir, i%2 == 1)
		pkg, err := ingest(t, s, archive)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pkg)
	}
	return out
}

// execute plans and executes in a fresh directory of the store.
func execute(t testing.TB, s *cache.Store, prefix string, pkgs []materialize.Package, workers int) (string, *materialize.Plan, *materialize.Result) {
	t.Helper()
	plan, err := materialize.NewPlan(prefix, testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := s.TempDir("test")
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Execute(context.Background(), s, staging, workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return staging, plan, res
}

// tree lists the files and links below root outside conda-meta: path → content,
// or "→ text" of a link.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || strings.HasPrefix(rel, "conda-meta/") || filepath.Base(rel) == "EXTERNALLY-MANAGED" || filepath.Base(rel) == "hpcenv-overlay.pth" {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			text, err := os.Readlink(p)
			out[rel] = "→ " + text
			return err
		}
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// permutations calls f with every order of pkgs.
func permutations(pkgs []materialize.Package, f func([]materialize.Package)) {
	var rec func(k int)
	rec = func(k int) {
		if k == len(pkgs) {
			f(append([]materialize.Package(nil), pkgs...))
			return
		}
		for i := k; i < len(pkgs); i++ {
			pkgs[k], pkgs[i] = pkgs[i], pkgs[k]
			rec(k + 1)
			pkgs[k], pkgs[i] = pkgs[i], pkgs[k]
		}
	}
	rec(0)
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// python is a package that passes for python 3.11.
func python() condatest.Package {
	return condatest.Package{
		Name: "python", Version: "3.11.4", Build: "h_0", Depends: []string{"pip"},
		Files: []condatest.File{
			{Path: "bin/python3.11", Content: "\x7fELF" + strings.Repeat("/build/place", 20) + "\x00end", Exec: true, Placeholder: strings.Repeat("/build/place", 20), Binary: true},
			{Path: "bin/python", Link: "python3.11"},
			{Path: "lib/python3.11/os.py", Content: "import sys\n"},
			{Path: "lib/python3.11/empty.py"},
			{Path: "include", Dir: true},
		},
	}
}
