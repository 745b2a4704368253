//go:build oracle

package oracle

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// session is one driver, one store, and what was found.
type session struct {
	driver *Driver
	store  *cache.Store
	// base is a directory that all prefixes and the store are below.
	base   string
	ledger *Ledger
	jobs   int
	// Counts of inputs.
	compared, refusedByBoth, refusedByOne, paths int
	last                                         *materialize.Plan
}

func newSession(t *testing.T) *session {
	t.Helper()
	base, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	home := filepath.Join(base, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	d := NewDriver(interpreter(t), home)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("the driver ended badly: %v", err)
		}
	})
	s, err := cache.Create(filepath.Join(base, "store"), cache.Format{
		PrefixRoot: "/opt/hpcenv/e", Platforms: []string{Subdir}, OwnerUID: os.Geteuid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &session{driver: d, store: s, base: base, ledger: &Ledger{Allowed: Allowed, Refusals: Refusals}}
}

// interpreter is the Python of the oracle's virtual environment. Without one the
// test fails where HPCENV_ORACLE=require says so (continuous integration) and is
// skipped elsewhere, loudly.
func interpreter(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("../../contrib/setup/oracle.sh", "path")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	why := fmt.Sprintf("ORACLE ABSENT: no py-rattler here (%v); run: contrib/setup/oracle.sh make", err)
	if os.Getenv("HPCENV_ORACLE") == "require" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// prefix is a path of exactly n bytes below base that no job had before: tasks of
// an install that failed may still be at work in theirs.
func (s *session) prefix(t *testing.T, n int) string {
	s.jobs++
	path := fmt.Sprintf("%s/%04d", s.base, s.jobs)
	if len(path) > n {
		t.Fatalf("TMPDIR is too long for a prefix of %d bytes: %s", n, s.base)
	}
	return path + strings.Repeat("p", n-len(path))
}

// check installs an environment of a lock with both and compares.
func (s *session) check(t *testing.T, name string, lock []byte, environment string, prefixLen int) {
	t.Helper()
	prefix := s.prefix(t, prefixLen)
	remove := func(p string) {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
	theirs, rerr := s.rattler(t, lock, environment, prefix)
	if rerr == nil {
		remove(prefix)
	}
	place := prefix
	if rerr != nil {
		place += ".ours"
	}
	ours, herr := s.hpcenv(t, lock, environment, prefix, place)
	remove(place)
	if rerr != nil && !errors.Is(rerr, ErrRattler) {
		t.Fatal(rerr)
	}
	switch {
	case rerr != nil && herr != nil:
		s.refusedByBoth++
		t.Logf("both refuse it:\n  rattler: %v\n  hpcenv:  %v", rerr, herr)
		return
	case rerr != nil:
		s.refusedByOne++
		if !s.ledger.Refused(name, "rattler", rerr) {
			t.Errorf("rattler refuses it, hpcenv does not: %v", rerr)
		}
		return
	case herr != nil:
		s.refusedByOne++
		if !s.ledger.Refused(name, "hpcenv", herr) {
			t.Errorf("hpcenv refuses it, rattler does not: %v", herr)
		}
		return
	}
	s.compared++
	s.paths += len(theirs.Tree)
	rest := s.ledger.Explain(name, Compare(theirs, ours))
	for i, d := range rest {
		if i == 20 {
			t.Errorf("and %d more", len(rest)-i)
			break
		}
		t.Error(d)
	}
	if t.Failed() {
		t.Logf("the lock:\n%.3000s\nconflicts: %+v", lock, s.last.Conflicts)
	}
}

func (s *session) rattler(t *testing.T, lock []byte, environment, prefix string) (*Side, error) {
	file := filepath.Join(s.base, "pixi.lock")
	if err := os.WriteFile(file, lock, 0o644); err != nil {
		t.Fatal(err)
	}
	unpacked := fmt.Sprintf("%s/unpacked%d", s.base, s.jobs)
	if err := s.driver.Install(context.Background(), file, environment, Subdir, prefix, unpacked); err != nil {
		return nil, err
	}
	defer func() {
		if err := os.RemoveAll(unpacked); err != nil {
			t.Error(err)
		}
	}()
	side, err := ReadSide(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return side, nil
}

// hpcenv goes the way of `hpcenv prepare`: lock, store, plan, tree; and then puts
// the tree at place: where rattler's was, unless that failed.
func (s *session) hpcenv(t *testing.T, lock []byte, environment, prefix, place string) (*Side, error) {
	ctx := context.Background()
	parsed, err := lockfile.Parse(lock)
	if err != nil {
		t.Fatal(err)
	}
	env, err := parsed.Environment(environment)
	if err != nil {
		t.Fatal(err)
	}
	platform, err := env.Platform(Subdir)
	if err != nil {
		t.Fatal(err)
	}
	if err := platform.Supported(); err != nil {
		t.Fatal(err)
	}
	var packages []materialize.Package
	for _, c := range platform.Conda {
		u, err := url.Parse(c.URL) // a path is the path of a URL without a scheme
		if err != nil {
			t.Fatal(err)
		}
		format := cache.FormatConda
		if strings.HasSuffix(u.Path, ".tar.bz2") {
			format = cache.FormatTarBz2
		}
		m, err := s.store.Ingest(ctx, u.Path, cache.Source{
			Name: c.FileName, URL: c.URL, SHA256: c.SHA256, MD5: c.MD5, Size: c.Size, Format: format,
		}, conda.Interpret)
		if err != nil {
			return nil, err
		}
		packages = append(packages, materialize.Package{Lock: c, Manifest: m})
	}
	plan, err := materialize.NewPlan(prefix, Subdir, packages, materialize.Options{NoScripts: true})
	if err != nil {
		return nil, err
	}
	s.last = plan
	staging, err := s.store.TempDir("oracle")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Execute(ctx, s.store, staging, 4, nil); err != nil {
		return nil, errors.Join(err, os.RemoveAll(staging))
	}
	if err := os.Rename(staging, place); err != nil {
		t.Fatal(err)
	}
	side, err := ReadSide(place)
	if err != nil {
		t.Fatal(err)
	}
	return side, nil
}
