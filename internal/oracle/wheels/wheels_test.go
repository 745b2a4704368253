//go:build oracle

package wheels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/wheel"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/oracle"
	"github.com/hpcenv/hpcenv/internal/peer"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// session is one store and one prefix for each length, and what was found.
type session struct {
	base       string
	installers *Installers
	store      *cache.Store
	short      *Prefix
	long       *Prefix
	uv, pip    *oracle.Ledger
	// Counts.
	byUV, byPip, paths, refused int
}

// longPrefix is the length of a prefix, in bytes, for which scripts get three first
// lines.
const longPrefix = cache.MaxPrefix

func newSession(t *testing.T) *session {
	t.Helper()
	python := peer.Python(t)
	base, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	s := &session{
		base: base, installers: &Installers{Python: python, Home: filepath.Join(base, "home")},
		uv:  &oracle.Ledger{Allowed: AllowedUV, Refusals: RefusalsUV},
		pip: &oracle.Ledger{Allowed: AllowedPip, Refusals: RefusalsPip},
	}
	if err := os.Mkdir(s.installers.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	s.store, err = cache.Create(filepath.Join(base, "store"), cache.Format{
		PrefixRoot: "/opt/hpcenv/e", Platforms: []string{oracle.Subdir, "linux-aarch64"}, OwnerUID: os.Geteuid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.short = makePrefix(t, python, filepath.Join(base, "p"))
	if n := longPrefix - len(base) - 1; n < 1 {
		t.Fatalf("TMPDIR is too long: %s", base)
	} else {
		s.long = makePrefix(t, python, filepath.Join(base, strings.Repeat("q", n)))
	}
	return s
}

func makePrefix(t *testing.T, python, path string) *Prefix {
	t.Helper()
	p, err := MakePrefix(python, path)
	if err != nil {
		why := fmt.Sprintf("ORACLE ABSENT: no prefix can be made of %s: %v", python, err)
		if os.Getenv("HPCENV_ORACLE") == "require" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return p
}

// TestOracle installs every wheel of the shared data, and those that the set-up
// fetched, with uv, pip and hpcenv. At the end it prints what was allowed to
// differ; an entry that nothing needed is a failure.
func TestOracle(t *testing.T) {
	s := newSession(t)
	whole := true
	for _, part := range []struct {
		name string
		run  func(*testing.T, *session)
	}{{"cases", testCases}, {"corpus", testCorpus}, {"real", testReal}} {
		begun := false
		ok := t.Run(part.name, func(t *testing.T) {
			begun = true
			t.Cleanup(func() { whole = whole && !t.Skipped() })
			part.run(t, s)
		})
		whole = whole && ok && begun
	}
	for _, l := range []struct {
		name   string
		ledger *oracle.Ledger
		n      int
	}{{"uv", s.uv, s.byUV}, {"pip", s.pip, s.byPip}} {
		table, unused := l.ledger.Table(whole)
		t.Logf("%s: %d wheels compared\n%s", l.name, l.n, table)
		if whole {
			for _, u := range unused {
				t.Errorf("nothing needs the allowed difference %q", u)
			}
		}
	}
	t.Logf("%d paths compared, %d wheels refused by a reference", s.paths, s.refused)
}

func testCorpus(t *testing.T, s *session) {
	root := filepath.Join(testdata.Shared(t), "data/packages")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(p, ".whl") {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		t.Run(strings.ReplaceAll(rel, "/", "|"), func(t *testing.T) { s.check(t, Wheel{Path: p, Arch: "x86_64"}) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testReal(t *testing.T, s *session) {
	cmd := exec.Command("../../../contrib/setup/oracle-wheels.sh", "path")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		why := fmt.Sprintf("REAL WHEELS ABSENT (%v); run: contrib/setup/oracle-wheels.sh make", err)
		if os.Getenv("HPCENV_ORACLE") == "require" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	n := 0
	for _, arch := range []string{"x86_64", "aarch64"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), arch, "*.whl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			n++
			t.Run(filepath.Base(f), func(t *testing.T) { s.check(t, Wheel{Path: f, Indexed: true, Arch: arch}) })
		}
	}
	if n < 30 {
		t.Errorf("only %d real wheels", n)
	}
}

// check installs one wheel with all, and compares.
func (s *session) check(t *testing.T, w Wheel) {
	ctx := context.Background()
	uv := s.reference(t, s.short, func() error {
		err := s.installers.UV(ctx, s.short, w, "3.11")
		if err != nil && strings.Contains(err.Error(), "does not satisfy Python") {
			err = s.installers.UV(ctx, s.short, w, "3.14")
		}
		return err
	})
	var pip *Side
	if w.Case != "" {
		// What pip does with odd wheels, and to its own Python, is not the question.
	} else if host := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; w.Arch == host || strings.HasSuffix(w.base(), "-any.whl") {
		pip = s.reference(t, s.short, func() error { return s.installers.Pip(ctx, s.short, w) })
	}
	if uv == nil && pip == nil && w.Case == "" {
		return
	}
	ours, err := s.hpcenv(t, s.short, w)
	s.byUV += s.compare(t, s.uv, w, uv, ours, err)
	if pip != nil {
		s.byPip += s.compare(t, s.pip, w, pip, ours, err)
	}
	if uv == nil || err != nil || !hasScripts(ours) {
		return
	}
	// Once more, where scripts need more than one line to find their Python.
	uv = s.reference(t, s.long, func() error { return s.installers.UV(ctx, s.long, w, "3.14") })
	if uv == nil {
		uv = s.reference(t, s.long, func() error { return s.installers.UV(ctx, s.long, w, "3.11") })
	}
	ours, err = s.hpcenv(t, s.long, w)
	s.compare(t, s.uv, w, uv, ours, err)
}

func hasScripts(s *Side) bool {
	for p := range s.Tree {
		if strings.HasPrefix(p, "bin/") {
			return true
		}
	}
	return false
}

// reference is what a reference makes of a wheel; nil if it refuses it.
func (s *session) reference(t *testing.T, p *Prefix, install func() error) *Side {
	t.Helper()
	err := install()
	if errors.Is(err, ErrRefused) {
		s.refused++
		t.Logf("%.600v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Clean(); err != nil {
			t.Fatal(err)
		}
	}()
	if err != nil {
		return nil
	}
	side, err := ReadSide(p.Path, p.own)
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// compare reports what the ledger does not allow; 1 if there was something to
// compare.
func (s *session) compare(t *testing.T, l *oracle.Ledger, w Wheel, theirs, ours *Side, err error) int {
	t.Helper()
	switch {
	case theirs == nil && err == nil && w.Case != "":
		if !l.Refused(w.title(), "reference", errReference) {
			t.Error("the reference refuses it, hpcenv does not")
		}
		return 0
	case theirs == nil:
		if err != nil {
			t.Logf("refused by both: %v", err)
		}
		return 0
	case err != nil:
		if !l.Refused(w.title(), "hpcenv", err) {
			t.Errorf("hpcenv refuses it, the reference does not: %v", err)
		}
		return 0
	}
	s.paths += len(theirs.Tree)
	differences, err := Compare(theirs, ours)
	if err != nil {
		t.Fatal(err)
	}
	rest := l.Explain(w.title(), differences)
	for i, d := range rest {
		if i == 20 {
			t.Errorf("and %d more", len(rest)-i)
			break
		}
		t.Error(strings.ReplaceAll(d.String(), "rattler:", "reference:"))
	}
	return 1
}

// errReference stands for what a reference says, which is in the test's log.
var errReference = errors.New("the reference refuses it")

// hpcenv goes the way of `hpcenv prepare`: store, plan, tree.
func (s *session) hpcenv(t *testing.T, p *Prefix, w Wheel) (*Side, error) {
	t.Helper()
	ctx := context.Background()
	data, err := os.ReadFile(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	name, version := w.name()
	lock := &lockfile.PyPIPackage{
		Location: w.Path, URL: w.Path, Local: true, Kind: lockfile.PyPIWheel, Name: name, Version: version, FileName: w.base(),
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Direct: !w.Indexed,
	}
	m, err := s.store.Ingest(ctx, w.Path, cache.Source{Name: w.base(), URL: "file://" + w.Path, SHA256: lock.SHA256, Size: lock.Size, Format: cache.FormatWheel}, wheel.Interpret)
	if err != nil {
		return nil, err
	}
	subdir := map[string]string{"x86_64": "linux-64", "aarch64": "linux-aarch64"}[w.Arch]
	python := s.python(t, p.Short, subdir)
	before := s.tree(t, p, python)
	own := map[string]bool{}
	for path := range before {
		own[path] = true
	}
	for path := range p.own {
		own[path] = true
	}
	plan, err := materialize.NewPlan(p.Path, subdir, []materialize.Package{python, {Wheel: lock, Manifest: m}}, materialize.Options{NoScripts: true})
	if err != nil {
		return nil, err
	}
	staging := s.execute(t, plan)
	defer os.RemoveAll(staging)
	return ReadSide(staging, own)
}

// tree is what a package alone makes.
func (s *session) tree(t *testing.T, p *Prefix, pkg materialize.Package) map[string]oracle.Node {
	t.Helper()
	plan, err := materialize.NewPlan(p.Path, pkg.Lock.Subdir, []materialize.Package{pkg}, materialize.Options{NoScripts: true})
	if err != nil {
		t.Fatal(err)
	}
	staging := s.execute(t, plan)
	defer os.RemoveAll(staging)
	tree, err := oracle.Tree(staging)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func (s *session) execute(t *testing.T, plan *materialize.Plan) string {
	t.Helper()
	staging, err := s.store.TempDir("oracle")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Execute(context.Background(), s.store, staging, 4, nil); err != nil {
		t.Fatal(err)
	}
	return staging
}

// python is a stand-in for the package python.
func (s *session) python(t *testing.T, short, subdir string) materialize.Package {
	t.Helper()
	p := condatest.Package{Name: "python", Version: short + ".0", Build: "0", Subdir: subdir, Files: []condatest.File{
		{Path: "bin/python" + short, Content: "#!/bin/sh\n", Exec: true}, {Path: "lib/python" + short + "/os.py", Content: "import sys\n"},
	}}
	path, sum := p.Write(t, s.base, false)
	m, err := s.store.Ingest(context.Background(), path, cache.Source{Name: p.Dist(), URL: "file://" + path, SHA256: sum, Format: cache.FormatConda}, conda.Interpret)
	if err != nil {
		t.Fatal(err)
	}
	return materialize.Package{Manifest: m, Lock: &lockfile.CondaPackage{
		Name: p.Name, Version: p.Version, Build: p.Build, Subdir: subdir, SHA256: sum, FileName: filepath.Base(path), Location: path, URL: path,
	}}
}
