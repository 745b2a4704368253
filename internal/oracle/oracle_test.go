//go:build oracle

package oracle

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// generated is how many generated sets are compared.
const generated = 200

// TestOracle compares prefixes of hpcenv with those of rattler.
func TestOracle(t *testing.T) {
	s := newSession(t)
	t.Run("generated", func(t *testing.T) {
		for n := range generated {
			set := Generate(n)
			t.Run(set.Name, func(t *testing.T) { s.checkSet(t, set) })
		}
	})
	table, unused := s.ledger.Table(false)
	t.Logf("%d inputs compared (%d paths), %d refused by both, %d by one\n%s", s.compared, s.paths, s.refusedByBoth, s.refusedByOne, table)
	for _, u := range unused {
		t.Errorf("nothing needs the allowed difference %q", u)
	}
}

// checkSet writes a set's archives and compares.
func (s *session) checkSet(t *testing.T, set Set) {
	dir := t.TempDir()
	var locked []Locked
	for i, p := range set.Packages {
		locked = append(locked, s.write(t, dir, p, set.SitePackages, i%2 == 1))
	}
	s.check(t, strings.TrimPrefix(t.Name(), "TestOracle/"), Text(locked), "default", set.PrefixLen)
}

func (s *session) write(t *testing.T, dir string, p condatest.Package, site string, bz2 bool) Locked {
	path, _ := p.Write(t, dir, bz2)
	l, ok, err := Lock(path)
	if err != nil || !ok {
		t.Fatalf("%s: %v", path, err)
	}
	if p.Name == "python" {
		l.PythonSitePackagesPath = site
	}
	return l
}
