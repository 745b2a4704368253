package materialize_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// Byte-code is used without a look at its source: a link's is that of the file to
// which the kernel follows it, through however many links and directories.
func TestByteCodeOfLinkedSources(t *testing.T) {
	s := newStore(t)
	const site = "lib/python3.11/site-packages/"
	root, meta := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, python(), condatest.Package{
		Name: "links", Version: "1", Build: "0", Depends: []string{"python"}, Files: []condatest.File{
			{Path: site + "a.py", Link: "b.py"}, {Path: site + "b.py", Link: "c.py"}, {Path: site + "c.py", Content: "x = 'c'\n"},
			// k/.. is deep, not site-packages.
			{Path: site + "v.py", Link: "k/../y.py"}, {Path: site + "k", Link: "deep/sub"},
			{Path: site + "y.py", Content: "x = 'wrong'\n"}, {Path: site + "deep/y.py", Content: "x = 'right'\n"}, {Path: site + "deep/sub/z.py", Content: "x = 'z'\n"},
			{Path: site + "through.py", Link: "k/z.py"},
			{Path: site + "circle.py", Link: "circle2.py"}, {Path: site + "circle2.py", Link: "circle.py"},
			{Path: site + "gone.py", Link: "nothing.py"}, {Path: site + "out.py", Link: "../../../../out.py"},
			{Path: site + "file.py", Link: "c.py/../c.py"}, {Path: site + "dir.py", Link: "deep"},
			{Path: site + "data.py", Link: "../../../share/s.py"}, {Path: "share/s.py", Content: "x = 1\n"},
		},
	}), 2)
	same := map[string]string{
		"a": "__pycache__/c", "b": "__pycache__/c", "v": "deep/__pycache__/y", "through": "deep/sub/__pycache__/z",
		"circle": "", "circle2": "", "gone": "", "out": "", "file": "", "dir": "", "data": "",
	}
	for name, want := range same {
		is, err := os.ReadFile(filepath.Join(root, site, "__pycache__", name+".cpython-311.pyc"))
		if want == "" {
			if !os.IsNotExist(err) {
				t.Errorf("%s.py has byte-code: %v", name, err)
			}
			continue
		}
		must, werr := os.ReadFile(filepath.Join(root, site, want+".cpython-311.pyc"))
		if err != nil || werr != nil || string(is) != string(must) {
			t.Errorf("%s.py has not the byte-code of %s: %v %v", name, want, err, werr)
		}
	}
	if meta.ByteCode.Failed != 0 {
		t.Errorf("%+v %q", meta.ByteCode, meta.Notes)
	}
}

// A compiled file's name is longer than its source's; where no file can have it,
// there is none, and a note.
func TestByteCodeOfLongNames(t *testing.T) {
	s := newStore(t)
	const site = "lib/python3.11/site-packages/"
	fits, long := strings.Repeat("f", 255-len(".cpython-311.pyc")), strings.Repeat("l", 256-len(".cpython-311.pyc"))
	deep := site + strings.Repeat(strings.Repeat("d", 200)+"/", 17)
	deep += strings.Repeat("e", 3580-len(deep)-len(".py")) + ".py"
	root, meta := makeEnv(t, s, prefixID("1"), testPlatform, build(t, s, python(), condatest.Package{
		Name: "long", Version: "1", Build: "0", Depends: []string{"python"}, Files: []condatest.File{
			{Path: site + fits + ".py", Content: "x = 1\n"}, {Path: site + long + ".py", Content: "x = 2\n"}, {Path: deep, Content: "x = 3\n"},
		},
	}), 2)
	if _, err := os.Stat(filepath.Join(root, pycache, fits+".cpython-311.pyc")); err != nil {
		t.Error(err)
	}
	notes := strings.Join(meta.Notes, "\n")
	if len(meta.Notes) != 2 || !strings.Contains(notes, long+".py has no byte-code") || !strings.Contains(notes, "eee.py has no byte-code") {
		t.Errorf("notes %q", notes)
	}
}

// What nobody could open by its path is refused; what is as long as can be is made,
// and read again.
func TestLongPaths(t *testing.T) {
	s := newStore(t)
	path := strings.Repeat(strings.Repeat("d", 250)+"/", 14)
	path += strings.Repeat("f", 3584-len(path))
	pkgs := build(t, s, condatest.Package{Name: "a", Version: "1", Build: "0", Files: []condatest.File{{Path: path, Content: "x"}}},
		condatest.Package{Name: "b", Version: "1", Build: "0", Files: []condatest.File{{Path: path + "f", Content: "x"}}})
	root, _, res := execute(t, s, "/opt/hpcenv/e/x", pkgs[:1], 1)
	if got, err := materialize.TreeDigest(root); err != nil || got != res.TreeDigest {
		t.Errorf("%s, %v", got, err)
	}
	_, err := materialize.NewPlan("/opt/hpcenv/e/x", testPlatform, pkgs[1:], noScripts)
	if !errors.Is(err, materialize.ErrUnlinkable) || !strings.Contains(err.Error(), "b-1-0") || !strings.Contains(err.Error(), "3585 bytes") {
		t.Errorf("got %v", err)
	}
}

// changer is a Runner whose scripts make given changes.
type changer []linkscript.Change

func (c changer) CanRun(string) error { return nil }
func (c changer) Run(_ context.Context, t *linkscript.Task) (*linkscript.Outcome, error) {
	return &linkscript.Outcome{Script: t.Script, Changes: c}, nil
}

// Changes that the tree cannot take are the script's failure, not the store's: the
// environment is made without them, and nothing of them is in it.
func TestScriptChangesThatDoNotFit(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, python(), condatest.Package{Name: "x", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "bin/.x-post-link.sh", Content: "true"}, {Path: "share/d/f", Content: "f"}, {Path: "share/l", Link: "d"},
	}})
	gone := func(paths ...string) (out changer) {
		for _, p := range paths {
			out = append(out, linkscript.Change{Path: p, Kind: linkscript.Gone})
		}
		return out
	}
	for i, c := range []struct {
		want    string
		changes changer
	}{
		{`it removed "lib/python3.11", and "lib/python3.11/EXTERNALLY-MANAGED" in it is not its to change`, gone("lib/python3.11", "lib/python3.11/empty.py", "lib/python3.11/os.py")},
		{`it removed "lib/python3.11", and "lib/python3.11/EXTERNALLY-MANAGED"`, append(gone("lib"), linkscript.Change{Path: "lib/python3.11", Kind: linkscript.Link, Target: "x"}, linkscript.Change{Path: "lib/python3.11/empty.py", Kind: linkscript.Gone}, linkscript.Change{Path: "lib/python3.11/os.py", Kind: linkscript.Gone})},
		{`it removed "share/d", and "share/d/f" in it`, gone("share/d")},
		{`it left "share/l/new" below what is no directory`, changer{{Path: "share/l/new", Kind: linkscript.Dir}}},
		{`it left "nowhere/new" below what is no directory`, changer{{Path: "nowhere/new", Kind: linkscript.Dir}}},
		{"", append(gone("share", "share/d", "share/d/f", "share/l", "share/never"), linkscript.Change{Path: "var", Kind: linkscript.Dir})},
	} {
		id := prefixID(string(rune('1' + i)))
		meta, _, err := materialize.Materialize(context.Background(), s, materialize.Request{
			ID: id, Platform: testPlatform, Packages: pkgs, Options: materialize.Options{NoScripts: true, Scripts: []string{testPlatform + "/x"}}, Scripts: c.changes,
		})
		if err != nil {
			t.Errorf("%q: %v", c.want, err)
			continue
		}
		r := meta.Scripts[0]
		if !strings.HasPrefix(r.Failed, c.want) || (c.want == "") != (r.Failed == "") || meta.Degraded != (c.want != "") {
			t.Errorf("%q: %+v", c.want, r)
		}
		root := s.TreePath(testPlatform, id)
		if got, err := materialize.TreeDigest(root); err != nil || got != meta.TreeDigest {
			t.Errorf("%q: tree digest %s, the meta has %s, %v", c.want, got, meta.TreeDigest, err)
		}
		if _, err := os.Stat(filepath.Join(root, "share/d/f")); (err == nil) != (c.want != "") {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// What a parser cannot take is known of the source for good, also where Python says
// that it has no memory: no environment tries it again.
func TestTooDeepForTheParser(t *testing.T) {
	s := newStore(t)
	const site = "lib/python3.11/site-packages/"
	pkgs := build(t, s, python(), condatest.Package{Name: "deep", Version: "1", Build: "0", Depends: []string{"python"}, Files: []condatest.File{
		{Path: site + "minus.py", Content: "x = " + strings.Repeat("-", 100000) + "1\n"},
		{Path: site + "parens.py", Content: "x = " + strings.Repeat("(", 1000) + strings.Repeat(")", 1000) + "\n"},
		{Path: site + "good.py", Content: "x = 1\n"},
	}})
	_, first := makeEnv(t, s, prefixID("1"), testPlatform, pkgs, 2)
	_, second := makeEnv(t, s, prefixID("2"), testPlatform, pkgs, 2)
	if first.ByteCode.Failed != 2 || second.ByteCode.Failed != 2 || second.ByteCode.Processes != 0 {
		t.Errorf("first %+v, second %+v", first.ByteCode, second.ByteCode)
	}
	if notes := strings.Join(second.Notes, "\n"); !strings.Contains(notes, "minus.py does not compile: MemoryError") {
		t.Errorf("notes %q", notes)
	}
}
