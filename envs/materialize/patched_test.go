package materialize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// patchedPackages have sources with the prefix in them: three that any prefix is
// like any other for, one of them not Python, and, if alone, two that the compiler
// makes something else of for each.
func patchedPackages(alone bool) []condatest.Package {
	place := strings.Repeat("/build/place", 5)
	file := func(name, text string) condatest.File {
		return condatest.File{Path: "lib/python3.11/" + name, Content: strings.ReplaceAll(text, "@", place), Placeholder: place}
	}
	files := []condatest.File{
		file("conf.py", "where = '@/lib'\n"), file("data.py", "build = {'A': '-I@/include -L@/lib', 'B': b'@'}\n"), file("old.py", "print '@'\n"),
	}
	if alone {
		files = append(files, file("cut.py", "which = '@'[30:]\nlast = '@'[-1]\n"), file("set.py", "def f(x): return x in {'@/a', '@/b', '@/c', 'd'}\n"))
	}
	return []condatest.Package{python(), {Name: "conf", Version: "1", Build: "0", Files: files}}
}

func codeOf(name string) string { return "lib/python3.11/__pycache__/" + name + ".cpython-311.pyc" }

// A source with the prefix in it gets what the compiler makes of it with that prefix,
// and a second environment starts no compiler for it: in its own prefix every file
// is as if it were the first.
func TestPatchedSource(t *testing.T) {
	s, other := newStore(t), newStore(t)
	if s.Prefix(testPlatform, "") != other.Prefix(testPlatform, "") {
		t.Fatal("these stores must have one prefix root")
	}
	_, first := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, patchedPackages(false)...), 1)
	two, second := makeEnv(t, s, prefixID("2"), testPlatform, build(t, s, patchedPackages(false)...), 1)
	alone, _ := makeEnv(t, other, prefixID("2"), testPlatform, build(t, other, patchedPackages(false)...), 1)
	if first.ByteCode.Processes == 0 || second.ByteCode.Processes != 0 {
		t.Errorf("compilers: %d for the first, %d for the second", first.ByteCode.Processes, second.ByteCode.Processes)
	}
	want := tree(t, alone)
	if d := cmp.Diff(want, tree(t, two)); d != "" {
		t.Error(d)
	}
	if text := s.Prefix(testPlatform, prefixID("2")) + "/lib"; !strings.Contains(want[codeOf("conf")], text) || !strings.Contains(want[codeOf("data")], text) {
		t.Errorf("%q, %q", want[codeOf("conf")], want[codeOf("data")])
	}
	for _, m := range []*materialize.Meta{first, second} {
		if c := m.ByteCode; c.Patched != 2 || c.Failed != 1 || len(c.Own) != 0 {
			t.Errorf("counted %+v", c)
		}
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "old.py") {
			t.Errorf("notes %q", m.Notes)
		}
	}
}

// The same package in another environment of its own, with another package: what is
// known of its sources goes by their content.
func TestPatchedSourceGoesByContent(t *testing.T) {
	s := newStore(t)
	makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, patchedPackages(false)...), 1)
	pkgs := patchedPackages(false)
	pkgs[1].Name, pkgs[1].Version = "again", "2"
	_, m := makeEnv(t, s, prefixID("2"), testPlatform, build(t, s, pkgs...), 1)
	if c := m.ByteCode; c.Processes != 0 || c.Patched != 2 || c.Failed != 1 {
		t.Errorf("got %+v", c)
	}
	if _, m = makeEnv(t, s, prefixID("3"), testPlatform, build(t, s, pkgs...), 1); m.ByteCode.Processes != 0 {
		t.Errorf("then %+v", m.ByteCode)
	}
}

// Sources that take their prefix apart are compiled for each prefix, and right.
func TestPatchedSourceOfItsOwn(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, patchedPackages(true)...)
	for i, id := range []string{"1", "2", "3"} {
		root, m := makeEnv(t, s, prefixID(id), testPlatform, pkgs, 1)
		if c := m.ByteCode; (c.Processes == 0) || c.Patched != 4 || len(c.Own) > 2 || c.Own[codeOf("set")] == "" || c.Failed != 1 {
			t.Errorf("%d: counted %+v", i, c)
		}
		if got := tree(t, root)[codeOf("cut")]; !strings.Contains(got, "u\x01\x00\x00\x00"+id) {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// A source may compile with one prefix and not with another: there it has no compiled
// file, and none is expected: neither it nor its line in the record of its package.
func TestPatchedSourceThatFailsForOnePrefix(t *testing.T) {
	s := newStore(t)
	place := strings.Repeat("/build/place", 5)
	pkgs := build(t, s, python(), condatest.Package{Name: "bare", Version: "1", Build: "0", Noarch: "python", Files: []condatest.File{
		{Path: "site-packages/bare.py", Content: "x = 1 " + place + "\n", Placeholder: place},
	}})
	const code = "lib/python3.11/site-packages/__pycache__/bare.cpython-311.pyc"
	py, _ := compiler(t, s)
	for id, compiles := range map[string]bool{prefixID("1"): true, prefixID("a"): true, strings.Repeat("9f", 16): false} {
		root, m := makeEnv(t, s, id, testPlatform, pkgs, 1)
		if m.ByteCode.Own[code] != "" != compiles || tree(t, root)[code] != "" != compiles {
			t.Errorf("%s: own %v", id, m.ByteCode.Own)
		}
		p, err := materialize.NewPlan(s.Prefix(testPlatform, id), testPlatform, pkgs, withCode)
		if err != nil {
			t.Fatal(err)
		}
		if complete, err := p.KnownByteCode(s, py, m.ByteCode); err != nil || !complete {
			t.Fatalf("%s: %v, %v", id, complete, err)
		}
		want, err := p.Tree(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		is, err := materialize.ReadTree(context.Background(), root)
		if err != nil {
			t.Fatal(err)
		}
		if d := is.Differences(want); len(d) != 0 {
			t.Errorf("%s: differences %v", id, d)
		}
	}
}

// What is known of patched sources is planned with its content, without a compiler;
// and where the pool lost it, it is made again.
func TestPatchedSourceIsForeseen(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, patchedPackages(true)...)
	py, _ := compiler(t, s)
	plan := func(id string) (*materialize.Plan, bool, error) {
		p, err := materialize.NewPlan(s.Prefix(testPlatform, prefixID(id)), testPlatform, pkgs, withCode)
		if err != nil {
			t.Fatal(err)
		}
		complete, err := p.KnownByteCode(s, py, nil)
		return p, complete, err
	}
	if _, complete, err := plan("1"); complete || err != nil {
		t.Errorf("nothing is known: %v, %v", complete, err)
	}
	first, m := makeEnv(t, s, prefixID("1"), testPlatform, pkgs, 1)
	p, complete, err := plan("2")
	if err != nil || !complete || p.Unknown() != len(m.ByteCode.Own) {
		t.Fatalf("%v, %v, %d unknown, %d were", complete, err, p.Unknown(), len(m.ByteCode.Own))
	}
	root, _ := makeEnv(t, s, prefixID("2"), testPlatform, pkgs, 1)
	want, err := p.Tree(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	is, err := materialize.ReadTree(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	if d := is.Differences(want); len(d) != 0 || want.File(codeOf("conf")) != is.File(codeOf("conf")) || is.File(codeOf("conf")) == "" {
		t.Errorf("differences %v; %s, %s", d, want.File(codeOf("conf")), is.File(codeOf("conf")))
	}
	// The one pool file that is in no tree: what conf.py became with the stand-in.
	var general []string
	err = filepath.WalkDir(filepath.Join(s.Root(), "pool", "files"), func(f string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, rerr := os.ReadFile(f)
			if rerr == nil && strings.Contains(string(data), filepath.Dir(s.Prefix(testPlatform, "x"))) && strings.Contains(string(data), "where") && strings.HasPrefix(string(data), tree(t, first)[codeOf("conf")][:8]) {
				general = append(general, f)
			}
		}
		return err
	})
	if err != nil || len(general) != 1 {
		t.Fatalf("%v, %v", general, err)
	}
	damage := map[string]func() error{
		"missing": func() error { return os.Remove(general[0]) },
		"cut":     func() error { return os.Truncate(general[0], 20) },
		"changed": func() error {
			data, err := os.ReadFile(general[0])
			data[len(data)-1] ^= 1
			return errors.Join(err, os.WriteFile(general[0], data, 0o644))
		},
	}
	id := 2
	for name, do := range damage {
		id++
		if err := do(); err != nil {
			t.Fatal(err)
		}
		// Another process: this one remembers what it saw in the pool.
		if s, err = cache.Open(s.Root()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := plan("2"); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), general[0]) {
			t.Errorf("%s: %v", name, err)
		}
		root, m := makeEnv(t, s, prefixID(fmt.Sprint(id)), testPlatform, pkgs, 1)
		got, want := tree(t, root)[codeOf("conf")], tree(t, first)[codeOf("conf")]
		if got = strings.ReplaceAll(got[16:], prefixID(fmt.Sprint(id)), prefixID("1")); got != want[16:] || m.ByteCode.Processes == 0 {
			t.Errorf("%s: %q, want %q; %+v", name, got, want[16:], m.ByteCode)
		}
		if _, complete, err := plan("2"); !complete || err != nil {
			t.Errorf("%s, mended: %v, %v", name, complete, err)
		}
	}
}
