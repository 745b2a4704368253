package materialize_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	envpython "github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/standalone"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/standalonetest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// standalonePackage takes a Python that is one archive into the store.
func standalonePackage(t testing.TB, s *cache.Store, version string, files []standalonetest.File) materialize.Package {
	t.Helper()
	data := standalonetest.TarGz(t, files)
	path, sum := filepath.Join(t.TempDir(), "c.tar.gz"), standalonetest.SHA256(data)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := s.Ingest(context.Background(), path, cache.Source{Name: "c.tar.gz", SHA256: sum, Format: cache.FormatTarGz}, standalone.Interpret)
	if err != nil {
		t.Fatal(err)
	}
	return materialize.Package{Manifest: m, Python: &lockfile.StandalonePython{
		Version: version, Subdir: "linux-64", URL: "https://files.example/c.tar.gz", FileName: "c.tar.gz", SHA256: sum,
	}}
}

// TestStandaloneIsTheBase: all else wins over what the archive has, in whatever order
// they are given; records tell of conda packages only.
func TestStandaloneIsTheBase(t *testing.T) {
	s := newStore(t)
	py := standalonePackage(t, s, "3.12.4", standalonetest.Small("3.12.4", "0"))
	lib := build(t, s, condatest.Package{Name: "lib", Version: "1", Build: "0", Files: []condatest.File{{Path: "lib/libpython3.12.so", Content: "conda's\n"}, {Path: "lib/lib.so", Content: "lib\n"}}})[0]
	w := wheelPackage(t, s, wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: "README.txt", Content: "wheel's\n"}, {Path: "w.py", Content: "w = 1\n"}}})
	var digest string
	for _, order := range [][]materialize.Package{{py, lib, w}, {w, lib, py}, {lib, py, w}} {
		root, plan, res := execute(t, s, testPrefix, order, 2)
		if digest != "" && digest != res.TreeDigest {
			t.Error("the order of packages matters")
		}
		digest = res.TreeDigest
		got := tree(t, root)
		for path, want := range map[string]string{"lib/libpython3.12.so": "conda's\n", "lib/python3.12/site-packages/README.txt": "wheel's\n", "lib/python3.12/site-packages/w.py": "w = 1\n"} {
			if got[path] != want {
				t.Errorf("%s is %q", path, got[path])
			}
		}
		if len(plan.Conflicts) != 2 || !slices.Equal(plan.Conflicts[0].Losers, []string{"c.tar.gz"}) {
			t.Errorf("%+v", plan.Conflicts)
		}
		if !strings.Contains(got["lib/python3.12/_sysconfigdata__linux_x86_64-linux-gnu.py"], "'LIBDIR': '"+testPrefix+"/lib'") {
			t.Error("sysconfig does not know the prefix")
		}
		records, err := filepath.Glob(filepath.Join(root, "conda-meta", "*.json"))
		if err != nil || len(records) != 1 {
			t.Errorf("records %v, %v", records, err)
		}
	}
}

func TestStandaloneThatCannotBeLinked(t *testing.T) {
	s := newStore(t)
	py := standalonePackage(t, s, "3.12.4", standalonetest.Small("3.12.4", "0"))
	other := standalonePackage(t, s, "3.11.2", standalonetest.Small("3.11.2", "0"))
	pkgs := build(t, s, python())
	w := wheelPackage(t, s, wheeltest.Wheel{Name: "w", Version: "1", Tag: "cp311-cp311-manylinux_2_17_x86_64"})
	lost, wrong, kind := py, py, py
	lost.Manifest = nil
	wrong.Python = &lockfile.StandalonePython{Version: "3.12.9", Subdir: "linux-64", FileName: "c.tar.gz", FreeThreaded: true}
	kind.Manifest = w.Manifest
	for name, c := range map[string]struct {
		pkgs  []materialize.Package
		class error
		says  []string
	}{
		"two":            {[]materialize.Package{py, other}, materialize.ErrUnlinkable, []string{"two Pythons"}},
		"and conda's":    {[]materialize.Package{pkgs[0], py}, materialize.ErrUnlinkable, []string{"c.tar.gz and python-3.11", "two Pythons"}},
		"not there":      {[]materialize.Package{lost}, materialize.ErrUnlinkable, []string{"c.tar.gz is not in the store"}},
		"not as listed":  {[]materialize.Package{wrong}, envpython.ErrInterpreter, []string{"it is Python 3.12.4, not 3.12.9", "with the global interpreter lock"}},
		"another kind":   {[]materialize.Package{kind}, cache.ErrIntegrity, []string{"c.tar.gz", "took it in as a .whl"}},
		"wheels for 311": {[]materialize.Package{py, w}, materialize.ErrUnlinkable, []string{"is not for Python 3.12 on linux-64"}},
	} {
		_, err := materialize.NewPlan(testPrefix, "linux-64", c.pkgs, materialize.Options{NoScripts: true})
		if !errors.Is(err, c.class) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
	}
	if _, err := materialize.NewPlan(testPrefix, "linux-aarch64", []materialize.Package{py}, materialize.Options{NoScripts: true}); !errors.Is(err, materialize.ErrUnlinkable) {
		t.Errorf("for another platform: %v", err)
	}
}

// TestStandaloneID: an id covers the bytes and what they are, not where they lie.
func TestStandaloneID(t *testing.T) {
	f := cache.Format{Platforms: []string{"linux-64"}, PrefixRoot: "/opt/e"}
	id := func(s *lockfile.StandalonePython) string {
		return materialize.ID(f, "/opt/e", map[string]*lockfile.Platform{"linux-64": {Name: "linux-64", Subdir: "linux-64", Python: s}}, materialize.Options{NoScripts: true})
	}
	base := lockfile.StandalonePython{Version: "3.13.1", Subdir: "linux-64", URL: "https://a.example/c.tar.gz", FileName: "c.tar.gz", SHA256: strings.Repeat("a", 64)}
	moved := base
	moved.URL, moved.FileName, moved.Local = "file:///srv/d.tar.gz", "d.tar.gz", true
	if id(&base) != id(&moved) {
		t.Error("the place counts")
	}
	seen := map[string]bool{id(nil): true, id(&base): true}
	for _, change := range []func(*lockfile.StandalonePython){
		func(s *lockfile.StandalonePython) { s.SHA256 = strings.Repeat("b", 64) },
		func(s *lockfile.StandalonePython) { s.Version = "3.13.2" },
		func(s *lockfile.StandalonePython) { s.FreeThreaded = true },
	} {
		s := base
		change(&s)
		if seen[id(&s)] {
			t.Errorf("%+v has an id that another has", s)
		}
		seen[id(&s)] = true
	}
}
