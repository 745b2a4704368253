//go:build oracle

package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// generated is how many generated sets are compared.
const generated = 200

// TestOracle compares prefixes of hpcenv with those of rattler: of packages made
// here, of packages that rattler-build makes here, of every conda package of the
// shared data, and of the demo channel. At the end it prints what was allowed to
// differ; an entry that nothing needed is a failure.
func TestOracle(t *testing.T) {
	s := newSession(t)
	parts := []struct {
		name string
		run  func(*testing.T, *session)
	}{
		{"generated", testGenerated}, {"cases", testCases}, {"built", testBuilt},
		{"demo", testDemo}, {"corpus", testCorpus}, {"groups", testGroups},
	}
	shared, all := true, true
	for _, p := range parts {
		begun := false
		ok := t.Run(p.name, func(t *testing.T) {
			begun = true
			if p.name == "corpus" {
				t.Cleanup(func() { shared = !t.Skipped() })
			}
			p.run(t, s)
		})
		all = all && ok && begun // not begun: -run asked for others
	}
	if !shared {
		t.Log("SHARED DATA ABSENT: only packages made on the spot were compared")
	}
	table, unused := s.ledger.Table(shared)
	t.Logf("%d inputs compared (%d paths), %d refused by both, %d by one; the differences that are allowed (hits, where, why):\n%s", s.compared, s.paths, s.refusedByBoth, s.refusedByOne, table)
	if !all {
		return
	}
	for _, u := range unused {
		t.Errorf("nothing needs the allowed difference %q", u)
	}
}

func testGenerated(t *testing.T, s *session) {
	for n := range generated {
		set := Generate(n)
		t.Run(set.Name, func(t *testing.T) { s.checkSet(t, set) })
	}
}

// TestGenerateIsDeterministic: the same number, the same set, in this process
// and in the next.
func TestGenerateIsDeterministic(t *testing.T) {
	seen := make(map[string]bool)
	for n := range generated {
		a, b := Generate(n), Generate(n)
		var archives []string
		for _, set := range []Set{a, b} {
			var all strings.Builder
			for _, p := range set.Packages {
				all.Write(p.Conda(t))
			}
			archives = append(archives, all.String())
		}
		if archives[0] != archives[1] || a.PrefixLen != b.PrefixLen {
			t.Errorf("%s is not always the same", a.Name)
		}
		if seen[archives[0]] {
			t.Errorf("%s is there twice", a.Name)
		}
		seen[archives[0]] = true
	}
}

// checkSet writes a set's archives and compares.
func (s *session) checkSet(t *testing.T, set Set) {
	t.Helper()
	dir := filepath.Join(s.base, "channel")
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	var locked []Locked
	for i, p := range set.Packages {
		locked = append(locked, writePackage(t, dir, p, set.SitePackages, i%2 == 1))
	}
	s.check(t, inputName(t), Text(locked), "default", set.PrefixLen)
}

// inputName is what refusals call the input of a subtest.
func inputName(t *testing.T) string { return strings.TrimPrefix(t.Name(), "TestOracle/") }

func writePackage(t *testing.T, dir string, p condatest.Package, site string, bz2 bool) Locked {
	path, _ := p.Write(t, dir, bz2)
	l := lockArchive(t, path)
	if p.Name == "python" {
		l.PythonSitePackagesPath = site
	}
	return l
}

func lockArchive(t *testing.T, path string) Locked {
	l, ok, err := Lock(path)
	if err != nil || !ok {
		t.Fatalf("%s has no record: %v", path, err)
	}
	return l
}
