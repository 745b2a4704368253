package materialize_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

var withCode = materialize.Options{NoScripts: true, ByteCode: true}

// compiler is the demo channel's CPython 3.11, and a sandbox; without either the
// test is skipped.
func compiler(t testing.TB, s *cache.Store) (*bytecode.Interpreter, *bytecode.Sandbox) {
	t.Helper()
	box := bytecode.NewSandbox()
	if err := box.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	found, err := filepath.Glob(filepath.Join(testdata.DemoChannel(t), "linux-64", "python-3*.conda"))
	if err != nil || len(found) != 1 {
		t.Fatalf("python of the demo channel: %v, %v", found, err)
	}
	pkg, err := ingest(t, s, found[0])
	if err != nil {
		t.Fatal(err)
	}
	return &bytecode.Interpreter{Version: pkg.Lock.Version, Packages: []*cache.Manifest{pkg.Manifest}}, box
}

// prefixID makes environment ids of one digit.
func prefixID(c string) string { return strings.Repeat(c, 32) }

// make publishes an environment with byte-code.
func makeEnv(t testing.TB, s *cache.Store, id, platform string, pkgs []materialize.Package, workers int) (string, *materialize.Meta) {
	t.Helper()
	py, box := compiler(t, s)
	meta, made, err := materialize.Materialize(context.Background(), s, materialize.Request{
		ID: id, Platform: platform, Packages: pkgs, Options: withCode, Python: py, Sandbox: box, Workers: workers,
	})
	if err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
	root := s.TreePath(platform, id)
	if got, err := materialize.TreeDigest(root); err != nil || got != meta.TreeDigest {
		t.Errorf("tree digest %s, the meta has %s, %v", got, meta.TreeDigest, err)
	}
	return root, meta
}

const pycache = "lib/python3.11/site-packages/__pycache__/"

// sources is a noarch package, one of an architecture, and one with a file that
// is no Python.
func sources() []condatest.Package {
	return []condatest.Package{
		python(),
		{Name: "pure", Version: "1", Build: "0", Noarch: "python", Depends: []string{"python"}, Files: []condatest.File{
			{Path: "site-packages/pure/__init__.py"},
			{Path: "site-packages/pure/mod.py", Content: "x = {'a', 'b', 'c'}\ndef f(): return 'pure'\n"},
			{Path: "site-packages/pure/bad.py", Content: "print 'python 2'\n"},
			{Path: "site-packages/pure/data.txt", Content: "no source"},
		}},
		{Name: "native", Version: "1", Build: "0", Depends: []string{"python"}, Files: []condatest.File{
			{Path: "lib/python3.11/site-packages/native.py", Content: "y = 1\n"},
			{Path: "lib/python3.11/site-packages/same.py", Content: "x = {'a', 'b', 'c'}\ndef f(): return 'pure'\n"},
			{Path: "lib/python3.11/site-packages/alias.py", Link: "native.py"},
			{Path: "share/script.py", Content: "not imported\n"},
		}},
	}
}

func inode(t testing.TB, p string) uint64 {
	t.Helper()
	st, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Ino
}

// A second environment with the same sources starts no compiler and has the very
// files of the first; what does not compile is reported by name.
func TestByteCodeIsMadeOnce(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sources()...)
	one, first := makeEnv(t, s, prefixID("1"), testPlatform, pkgs, 2)
	two, second := makeEnv(t, s, prefixID("2"), testPlatform, pkgs, 2)
	if c := first.ByteCode; c == nil || c.Processes == 0 || c.Failed != 1 || c.Files != 7 || c.Skipped != "" {
		t.Errorf("first: %+v", c)
	}
	if c := second.ByteCode; c == nil || c.Processes != 0 || c.Failed != 1 || c.Files != 7 {
		t.Errorf("second: %+v", c)
	}
	for _, m := range []*materialize.Meta{first, second} {
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "pure-1-0") || !strings.Contains(m.Notes[0], "pure/bad.py") || !strings.Contains(m.Notes[0], "SyntaxError") {
			t.Errorf("notes: %q", m.Notes)
		}
	}
	for _, p := range []string{
		"lib/python3.11/__pycache__/os.cpython-311.pyc", "lib/python3.11/__pycache__/empty.cpython-311.pyc",
		"lib/python3.11/site-packages/pure/__pycache__/mod.cpython-311.pyc", pycache + "native.cpython-311.pyc",
		pycache + "alias.cpython-311.pyc",
	} {
		if inode(t, filepath.Join(one, p)) != inode(t, filepath.Join(two, p)) {
			t.Errorf("%s is not shared", p)
		}
	}
	if inode(t, filepath.Join(one, pycache, "same.cpython-311.pyc")) != inode(t, filepath.Join(one, "lib/python3.11/site-packages/pure/__pycache__/mod.cpython-311.pyc")) {
		t.Error("one source, two byte-codes")
	}
	for _, p := range []string{"share/__pycache__", "lib/python3.11/site-packages/pure/__pycache__/bad.cpython-311.pyc"} {
		if _, err := os.Lstat(filepath.Join(one, p)); err == nil {
			t.Errorf("there is %s", p)
		}
	}
}

// Another package with a known source, in another store session, needs no
// compiler either.
func TestByteCodeGoesBySource(t *testing.T) {
	s := newStore(t)
	all := sources()
	makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, all...), 2)
	other := condatest.Package{Name: "vendor", Version: "3", Build: "0", Noarch: "python", Files: []condatest.File{
		{Path: "site-packages/vendored.py", Content: all[1].Files[1].Content}, {Path: "site-packages/v2.py", Content: all[1].Files[2].Content}}}
	_, m := makeEnv(t, s, prefixID("3"), testPlatform, build(t, s, python(), other), 2)
	if c := m.ByteCode; c.Processes != 0 || c.Failed != 1 || c.Files != 3 {
		t.Errorf("got %+v", c)
	}
}

// Records: a noarch package's compiled files are listed as conda lists them, an
// architecture's package lists what it shipped.
func TestByteCodeInRecords(t *testing.T) {
	s := newStore(t)
	root, _ := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, sources()...), 2)
	read := func(name string) (files []string, types map[string]string) {
		data, err := os.ReadFile(filepath.Join(root, "conda-meta", name))
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Files []string
			Paths struct {
				Paths []struct {
					Path string `json:"_path"`
					Type string `json:"path_type"`
				}
			} `json:"paths_data"`
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		types = map[string]string{}
		for _, p := range r.Paths.Paths {
			types[p.Path] = p.Type
		}
		return r.Files, types
	}
	files, types := read("pure-1-0.json")
	const mod = "lib/python3.11/site-packages/pure/__pycache__/mod.cpython-311.pyc"
	if !slices.Contains(files, mod) || types[mod] != "pyc_file" || !slices.IsSorted(files) {
		t.Errorf("noarch: %v, %v", files, types)
	}
	if files, _ := read("native-1-0.json"); slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, ".pyc") }) {
		t.Errorf("native: %v", files)
	}
}

// The tree is the same from 1 and 32 workers, each from nothing.
func TestByteCodeIsDeterministic(t *testing.T) {
	var many []condatest.File
	for i := range 300 {
		many = append(many, condatest.File{Path: fmt.Sprintf("site-packages/many/m%d.py", i),
			Content: fmt.Sprintf("s = frozenset({'a%d', 'b', 3, None, (1, 'x')})\nclass C%d:\n  def f(self, a=%d): return [a, 'b', s]\n", i, i, i)})
	}
	pkg := condatest.Package{Name: "many", Version: "1", Build: "0", Noarch: "python", Files: many}
	var digests []string
	for i, workers := range []int{1, 32, 1} {
		s := newStore(t)
		pkgs := build(t, s, append(sources(), pkg)...)
		if i == 2 {
			slices.Reverse(pkgs)
		}
		_, m := makeEnv(t, s, prefixID("1"), testPlatform, pkgs, workers)
		digests = append(digests, m.TreeDigest)
	}
	if digests[0] != digests[1] || digests[1] != digests[2] {
		t.Errorf("tree digests differ: %v", digests)
	}
}

// What one package brings changes nothing in another's byte-code.
func TestHostilePackageChangesNoByteCode(t *testing.T) {
	clean, dirty := newStore(t), newStore(t)
	const evil = "import builtins, sys\nreal = builtins.compile\nbuiltins.compile = lambda *a, **k: real('pwned = 1', 'x', 'exec')\n"
	hostile := condatest.Package{Name: "hostile", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "lib/python3.11/site-packages/sitecustomize.py", Content: evil},
		{Path: "lib/python3.11/site-packages/usercustomize.py", Content: evil},
		{Path: "lib/python3.11/sitecustomize.py", Content: evil},
		{Path: "lib/python3.11/site-packages/evil.pth", Content: "import sitecustomize\n"},
		{Path: "lib/python3.11/site-packages/marshal.py", Content: evil},
		{Path: "lib/python3.11/importlib/__init__.py", Content: evil},
		{Path: "pyvenv.cfg", Content: "home = /nowhere\n"},
	}}
	a, _ := makeEnv(t, clean, prefixID("1"), testPlatform, build(t, clean, sources()...), 1)
	b, _ := makeEnv(t, dirty, prefixID("1"), testPlatform, build(t, dirty, append(sources(), hostile)...), 1)
	n := 0
	for p, want := range tree(t, a) {
		if strings.HasSuffix(p, ".pyc") {
			n++
			if got := tree(t, b)[p]; got != want {
				t.Errorf("%s differs", p)
			}
		}
	}
	if n != 7 {
		t.Errorf("%d files were compared", n)
	}
}

// Shipped files: one that fits its source gets another header, one that does not
// is made anew, one that needs nothing is the package's own.
func TestShippedByteCode(t *testing.T) {
	s := newStore(t)
	const source, when = "x = 1\n", 1700000000
	// The body comes from a real compiler, by way of another package.
	root, _ := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, python(), condatest.Package{Name: "seed", Version: "1", Build: "0",
		Files: []condatest.File{{Path: "lib/python3.11/seed.py", Content: source}}}), 1)
	data, err := os.ReadFile(filepath.Join(root, "lib/python3.11/__pycache__/seed.cpython-311.pyc"))
	if err != nil {
		t.Fatal(err)
	}
	magic, hash, body := string(data[:4]), string(data[4:16]), string(data[16:])
	stamp := func(when, size uint32) string {
		return magic + "\x00\x00\x00\x00" + string([]byte{byte(when), byte(when >> 8), byte(when >> 16), byte(when >> 24), byte(size), 0, 0, 0})
	}
	const mark = "\x00their own" // bytes after the code are ignored
	at := func(name string) string { return "lib/python3.11/__pycache__/" + name + ".cpython-311.pyc" }
	pkg := condatest.Package{Name: "ships", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "lib/python3.11/fits.py", Content: source, Time: when}, {Path: at("fits"), Content: stamp(when, 6) + body + mark},
		{Path: "lib/python3.11/late.py", Content: source, Time: when}, {Path: at("late"), Content: stamp(when+1, 6) + body + mark},
		{Path: "lib/python3.11/hash.py", Content: source, Time: when}, {Path: at("hash"), Content: magic + "\x01\x00\x00\x00anything" + body + mark},
		{Path: at("orphan"), Content: stamp(when, 6) + body},
	}}
	root, m := makeEnv(t, s, prefixID("2"), testPlatform, build(t, s, python(), pkg), 1)
	got := tree(t, root)
	for name, want := range map[string]string{
		"fits": magic + hash + body + mark, "late": string(data), "hash": magic + "\x01\x00\x00\x00anything" + body + mark, "orphan": stamp(when, 6) + body,
	} {
		if got[at(name)] != want {
			t.Errorf("%s: %q, want %q", name, got[at(name)], want)
		}
	}
	if c := m.ByteCode; c.Headed != 1 || c.Kept != 1 {
		t.Errorf("counted %+v", c)
	}
	record, err := os.ReadFile(filepath.Join(root, "conda-meta/ships-1-0.json"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(record), `"sha256_in_prefix"`); n != 2 {
		t.Errorf("the record has %d changed files, want 2 (fits, late):\n%s", n, record)
	}
}

// Another architecture's environment has the very byte-code that this one's
// Python made.
func TestByteCodeOfAnotherArchitecture(t *testing.T) {
	s := newStore(t)
	x86, arm := sources(), sources()
	for i := range arm {
		if arm[i].Noarch == "" {
			arm[i].Subdir = "linux-aarch64"
		}
	}
	one, _ := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, x86...), 1)
	two, m := makeEnv(t, s, prefixID("1"), "linux-aarch64", build(t, s, arm...), 1)
	if m.ByteCode.Processes != 0 {
		t.Errorf("got %+v", m.ByteCode)
	}
	for _, p := range []string{"lib/python3.11/__pycache__/os.cpython-311.pyc", pycache + "native.cpython-311.pyc"} {
		if inode(t, filepath.Join(one, p)) != inode(t, filepath.Join(two, p)) {
			t.Errorf("%s is not shared", p)
		}
	}
}

// Where nothing can compile, the environment is made and says so.
func TestNoCompilerIsReported(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sources()...)
	py, box := compiler(t, s)
	for id, req := range map[string]materialize.Request{
		"1": {NoPython: "there is no such machine"},
		// A package that calls itself python but does not run.
		"2": {Python: &bytecode.Interpreter{Version: "3.11.4", Packages: []*cache.Manifest{pkgs[0].Manifest}}, Sandbox: box},
		"3": {Python: &bytecode.Interpreter{Version: "3.10.0", Packages: py.Packages}, Sandbox: box},
	} {
		req.ID, req.Platform, req.Packages, req.Options = prefixID(id), testPlatform, pkgs, withCode
		m, _, err := materialize.Materialize(context.Background(), s, req)
		if err != nil {
			t.Fatal(err)
		}
		if m.ByteCode == nil || m.ByteCode.Skipped == "" || m.ByteCode.Files != 0 || len(m.Notes) != 1 || !strings.HasPrefix(m.Notes[0], "no byte-code: ") {
			t.Errorf("%s: %+v, %q", id, m.ByteCode, m.Notes)
		}
	}
}
