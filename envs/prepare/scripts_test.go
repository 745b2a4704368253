package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sandbox"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// scripted puts a package with scripts into the channel.
func (w *world) scripted(name, subdir string, files ...condatest.File) string {
	p := condatest.Package{Name: name, Version: "1", Build: "0", Subdir: subdir, BuildNumber: 4, Files: files}
	data := p.Conda(w.t)
	path := "/" + subdir + "/" + p.Dist() + ".conda"
	w.data[path] = data
	sum := sha256.Sum256(data)
	return fmt.Sprintf("- conda: %s%s\n  sha256: %s\n  size: %d\n", w.url, path, hex.EncodeToString(sum[:]), len(data))
}

// runner is the sandbox of this host; without one the test is skipped.
func runner(t *testing.T) linkscript.Runner {
	l := linkscript.NewLocal(sandbox.New())
	if err := l.CanRun("linux-64"); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	return l
}

const goodScript = `set -e
cat $PREFIX/share/* > $PREFIX/share/index
echo "$PKG_NAME $PKG_VERSION $PKG_BUILDNUM" >> $PREFIX/share/shared
rm $PREFIX/share/gone
echo "$PKG_NAME is set up" > $PREFIX/.messages.txt`

func TestAllowedScriptsAreRun(t *testing.T) {
	w := newWorld(t)
	run := runner(t)
	file := func(path, content string) condatest.File {
		return condatest.File{Path: path, Content: content}
	}
	fonts := w.scripted("fonts", "linux-64", file("bin/.fonts-post-link.sh", goodScript), file("bin/.fonts-pre-link.sh", "[ -e $SOURCE_DIR/share/shared ] && echo pre > $PREFIX/share/pre"),
		file("share/shared", "s\n"), file("share/gone", "g\n"), file("lib/p/m.py", "x = 1\n"))
	bad := w.scripted("bad", "linux-64", file("bin/.bad-post-link.sh", "echo x > $PREFIX/share/bad; echo no luck; exit 3"), file("share/b", "b\n"))
	other := w.scripted("other", "linux-64", file("bin/.other-post-link.sh", "echo evil > $PREFIX/share/evil"))
	req := &Request{Lock: lock(map[string][]string{"linux-64": {fonts, bad, other}}), Platforms: []string{"linux-64"}}
	prepared := func(s Scripts) (*Result, Environment, error) {
		t.Helper()
		w.deps.Scripts = s
		res, err := Run(context.Background(), w.deps, req, nil)
		if err != nil {
			return nil, Environment{}, err
		}
		return res, res.Environments[0], nil
	}

	skipped := "link scripts were not run, those of bad-1-0, fonts-1-0, other-1-0 ("
	res, without, err := prepared(Scripts{Runner: run})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(res.Notes, "\n"); strings.Count(notes, skipped) != 1 {
		t.Errorf("notes without: %s", notes)
	}
	// They are told of again when nothing is to be done.
	if res, _, err := prepared(Scripts{Runner: run}); err != nil || !strings.Contains(strings.Join(res.Notes, "\n"), skipped) {
		t.Errorf("again without: %+v %v", res, err)
	}
	if m := without.Meta; len(m.SkippedScripts) != 4 || len(m.Scripts) > 0 || m.Degraded {
		t.Errorf("without: %+v", m)
	}
	// Another channel's package of that name is another package.
	_, elsewhere, err := prepared(Scripts{Runner: run, Allow: []ScriptRule{{Channel: "https://conda.example", Package: "fonts"}}})
	if err != nil || elsewhere.ID != without.ID {
		t.Errorf("a rule for another channel: %+v %v", elsewhere, err)
	}

	allow := []ScriptRule{{Channel: w.url + "/", Package: "fonts"}, {Channel: w.url, Package: "bad"}}
	_, _, err = prepared(Scripts{Runner: run, Allow: allow, RefuseFailed: true})
	if !errors.Is(err, materialize.ErrScript) || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("refused: %v", err)
	}
	_, _, err = prepared(Scripts{Allow: allow})
	if !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), ".fonts-pre-link.sh") {
		t.Errorf("without a runner: %v", err)
	}
	res, with, err := prepared(Scripts{Runner: run, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	m := with.Meta
	if with.ID == without.ID || !m.Degraded || !slices.Equal(m.SkippedScripts, []string{"other-1-0: bin/.other-post-link.sh"}) || len(m.Scripts) != 3 {
		t.Fatalf("with: %+v", m)
	}
	if s := m.Scripts[2]; s.Package != "bad-1-0" || !strings.Contains(s.Failed, "exit status 3") || s.Output != "no luck" || s.Changed != 0 {
		t.Errorf("bad: %+v", s)
	}
	if s := m.Scripts[1]; s.Script != "bin/.fonts-post-link.sh" || s.Failed != "" || s.Messages != "fonts is set up" || s.Changed != 3 {
		t.Errorf("fonts: %+v", s)
	}
	notes := strings.Join(res.Notes, "\n")
	if !strings.Contains(notes, "is degraded: bin/.bad-post-link.sh of bad-1-0 failed") || !strings.Contains(notes, "fonts-1-0 says: fonts is set up") {
		t.Errorf("notes: %s", notes)
	}

	tree := w.deps.Store.TreePath("linux-64", with.ID)
	for name, want := range map[string]string{"share/index": "b\ng\npre\ns\n", "share/shared": "s\nfonts 1 4\n", "share/pre": "pre\n"} {
		if data, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q %v, want %q", name, data, err, want)
		}
		if st, err := os.Stat(filepath.Join(tree, name)); err == nil && st.ModTime().Year() != 1980 {
			t.Errorf("%s is of %v", name, st.ModTime())
		}
	}
	for _, name := range []string{"share/gone", "share/bad", "share/evil", ".messages.txt"} {
		if _, err := os.Lstat(filepath.Join(tree, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := materialize.TreeDigest(tree); err != nil || got != m.TreeDigest {
		t.Errorf("tree digest %s, %v, the description says %s", got, err, m.TreeDigest)
	}
	// What the other environment shares is as it was.
	data, err := os.ReadFile(filepath.Join(w.deps.Store.TreePath("linux-64", without.ID), "share/shared"))
	if err != nil || string(data) != "s\n" {
		t.Errorf("the other environment: %q %v", data, err)
	}
	left, err := filepath.Glob(filepath.Join(w.deps.Store.Root(), "tmp/*"))
	if err != nil || len(left) > 1 { // tmp/locks
		t.Errorf("left in tmp: %v, %v", left, err)
	}
	// The second time nothing is done, and the user hears of it again.
	res, again, err := prepared(Scripts{Runner: run, Allow: allow})
	if err != nil || again.New || again.ID != with.ID || !strings.Contains(strings.Join(res.Notes, "\n"), "is degraded") {
		t.Errorf("again: %+v %v %v", again, res, err)
	}
}

func TestScriptRules(t *testing.T) {
	got, err := ParseScriptRules(" https://conda.example/main::fonts\nhttp://x.example:8080/c::y ")
	want := []ScriptRule{{"https://conda.example/main", "fonts"}, {"http://x.example:8080/c", "y"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"fonts", "main::fonts", "https://x::", "::y"} {
		if _, err := ParseScriptRules(bad); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
