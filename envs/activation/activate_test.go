package activation

import (
	"context"
	"errors"
	"math/rand"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// site makes a prefix with declared variables and scripts and returns an Input
// for it.
func site(t *testing.T, id, platform string, files map[string]string) Input {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), id)
	write(t, prefix, files)
	write(t, prefix, map[string]string{"bin/x": ""})
	st, err := FromTree(prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return Input{ID: id, Platform: platform, Prefix: prefix, Static: st, EnvName: "default"}
}

func activate(t *testing.T, in Input, env []string) Result {
	t.Helper()
	in.Env = env
	res, err := Activate(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	// What the patch says is what the environment became.
	patched, err := Apply(env, res.Patch)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sorted(patched), sorted(res.Env); !reflect.DeepEqual(got, want) {
		t.Fatalf("patch gives\n%q, result says\n%q", got, want)
	}
	for _, op := range res.Patch.Ops {
		if (op.Kind != OpSet && op.Kind != OpUnset) || op.Expand {
			t.Fatalf("patch holds %+v, want only final values", op)
		}
	}
	return res
}

var scriptSite = map[string]string{
	"etc/conda/env_vars.d/a.json":  `{"DECLARED":"$CONDA_PREFIX/share","PYTHONNOUSERSITE_X":"1"}`,
	"etc/conda/activate.d/10_a.sh": "export COMPUTED=$(uname -s)-$DECLARED\nexport LD_LIBRARY_PATH=$CONDA_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\nexport PATH=$CONDA_PREFIX/tools:$PATH\n",
}

func TestActivateNone(t *testing.T) {
	in := site(t, "aa", "linux-64", scriptSite)
	in.Manifest = &Manifest{Name: "p", Root: "/r", File: "pixi.toml",
		Env:     map[string]map[string]string{"": {"COMPUTED": "manifest", "PYTHONNOUSERSITE": "0", "SHELLED": "${COMPUTED:-x}"}},
		Scripts: map[string][]Script{"": {{Path: "s.sh", Content: "export FROM_PROJECT=$COMPUTED\n"}, {Path: "s.fish", Content: "set"}}},
	}
	in.ActDigest = "d1"
	res := activate(t, in, []string{"PATH=/usr/bin:/bin", "HOME=/h", "LD_LIBRARY_PATH=/mine", "BASH_FUNC_module%%=() {  :; }", "PYTHONPATH=/evil", "R_LIBS=/r"})
	wantVar(t, res.Env, "PATH", in.Prefix+"/tools:"+in.Prefix+"/bin:/usr/bin:/bin")
	wantVar(t, res.Env, "LD_LIBRARY_PATH", in.Prefix+"/lib:/mine")
	wantVar(t, res.Env, "CONDA_PREFIX", in.Prefix)
	wantVar(t, res.Env, "DECLARED", in.Prefix+"/share")
	wantVar(t, res.Env, "FROM_PROJECT", "Linux-"+in.Prefix+"/share")
	wantVar(t, res.Env, "COMPUTED", "manifest")
	wantVar(t, res.Env, "PYTHONNOUSERSITE", "0")
	wantVar(t, res.Env, "BASH_FUNC_module%%", "() {  :; }")
	wantVar(t, res.Env, MarkerName, "aa/linux-64/d1")
	wantUnset(t, res.Env, "PYTHONPATH")
	wantUnset(t, res.Env, "R_LIBS")
	if n := strings.Join(res.Notes, "\n"); !strings.Contains(n, "PYTHONPATH, R_LIBS") || !strings.Contains(n, "s.fish") {
		t.Errorf("notes %q", n)
	}
	if undo, _ := lookup(res.Env, UndoName); len(undo) > 900 {
		t.Errorf("the undo record has %d bytes; it travels in every process", len(undo))
	}
	back, err := Undo(res.Env)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"BASH_FUNC_module%%=() {  :; }", "HOME=/h", "LD_LIBRARY_PATH=/mine", "PATH=/usr/bin:/bin"}
	if got := sorted(back); !reflect.DeepEqual(got, want) {
		t.Errorf("undone\n%q, want\n%q", got, want)
	}
}

func TestActivateAgainLeavesTheScriptsChanges(t *testing.T) {
	in := site(t, "aa", "linux-64", scriptSite)
	env := activate(t, in, []string{"PATH=/usr/bin"}).Env
	path, _ := lookup(env, "PATH")
	changed, err := Apply(env, Patch{Ops: []Op{{Kind: OpSet, Name: "PATH", Value: "/mine:" + path}, {Kind: OpSet, Name: "PYTHONPATH", Value: "/set/by/script"}, {Kind: OpUnset, Name: "COMPUTED"}}})
	if err != nil {
		t.Fatal(err)
	}
	if res := activate(t, in, changed); len(res.Patch.Ops) != 0 || len(res.Notes) != 0 {
		t.Errorf("a step changed %+v, notes %q", res.Patch.Ops, res.Notes)
	}
}

func TestActivateAfterALoginShellResetPATH(t *testing.T) {
	in := site(t, "aa", "linux-64", nil)
	env := activate(t, in, []string{"PATH=/usr/bin"}).Env
	reset, err := Apply(env, Patch{Ops: []Op{{Kind: OpSet, Name: "PATH", Value: "/usr/local/bin:/usr/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	res := activate(t, in, reset)
	wantVar(t, res.Env, "PATH", in.Prefix+"/bin:/usr/local/bin:/usr/bin")
	if len(res.Notes) != 1 {
		t.Errorf("notes %q, want one", res.Notes)
	}
}

func TestActivateOtherPlatformRedoesOnlyWhatDiffers(t *testing.T) {
	in := site(t, "aa", "linux-64", scriptSite)
	env := activate(t, in, []string{"PATH=/usr/bin", "PYTHONPATH=/x"}).Env
	path, _ := lookup(env, "PATH")
	env, err := Apply(env, Patch{Ops: []Op{{Kind: OpSet, Name: "PATH", Value: "/mine:" + path}, {Kind: OpSet, Name: "PYTHONPATH", Value: "/script"}}})
	if err != nil {
		t.Fatal(err)
	}
	// The same prefix, on a node of another architecture: other contents.
	arm := in
	arm.Platform = "linux-aarch64"
	write(t, in.Prefix, map[string]string{"etc/conda/activate.d/10_a.sh": "export COMPUTED=arm\n", "etc/conda/env_vars.d/a.json": `{"ARM_ONLY":"1"}`})
	if arm.Static, err = FromTree(in.Prefix, in.Prefix); err != nil {
		t.Fatal(err)
	}
	res := activate(t, arm, env)
	wantVar(t, res.Env, "PATH", "/mine:"+in.Prefix+"/bin:/usr/bin")
	wantVar(t, res.Env, "COMPUTED", "arm")
	wantVar(t, res.Env, "ARM_ONLY", "1")
	wantVar(t, res.Env, "PYTHONPATH", "/script")
	wantVar(t, res.Env, MarkerName, "aa/linux-aarch64/-")
	wantUnset(t, res.Env, "DECLARED")
	wantUnset(t, res.Env, "LD_LIBRARY_PATH")
	if strings.Contains(strings.Join(res.Env, "\n"), "tools") {
		t.Error("the other platform's script is still in effect")
	}
}

func TestActivateOtherEnvironment(t *testing.T) {
	a, b := site(t, "aa", "linux-64", scriptSite), site(t, "bb", "linux-64", nil)
	env := activate(t, a, []string{"PATH=/usr/bin", "HOME=/h"}).Env
	env = append(env, "PYTHONPATH=/set/by/script")
	res := activate(t, b, env)
	wantVar(t, res.Env, "PATH", b.Prefix+"/bin:/usr/bin")
	wantVar(t, res.Env, "CONDA_PREFIX", b.Prefix)
	wantVar(t, res.Env, "PYTHONPATH", "/set/by/script")
	wantUnset(t, res.Env, "COMPUTED")
	for _, kv := range res.Env {
		if strings.Contains(kv, a.Prefix) {
			t.Errorf("left of the first environment: %s", kv)
		}
	}
	// A changed activation of the same environment is another one, too.
	c := b
	c.ActDigest = "d2"
	c.Manifest = &Manifest{Env: map[string]map[string]string{"": {"NEW": "1"}}}
	res = activate(t, c, res.Env)
	wantVar(t, res.Env, "PATH", b.Prefix+"/bin:/usr/bin")
	wantVar(t, res.Env, "NEW", "1")
}

func TestActivateFirstComesFromASubmittingShell(t *testing.T) {
	in := site(t, "aa", "linux-64", scriptSite)
	env := append(activate(t, in, []string{"PATH=/usr/bin"}).Env, "PYTHONPATH=/x")
	in.First = true
	res := activate(t, in, env)
	wantUnset(t, res.Env, "PYTHONPATH")
	wantVar(t, res.Env, "PATH", in.Prefix+"/tools:"+in.Prefix+"/bin:/usr/bin")
}

func TestActivateWithALostUndo(t *testing.T) {
	a, b := site(t, "aa", "linux-64", nil), site(t, "bb", "linux-64", nil)
	for _, undo := range []string{"", "garbage", "1.!!!", "2.abc"} {
		env, err := Apply(activate(t, a, []string{"PATH=/usr/bin"}).Env, Patch{Ops: []Op{{Kind: OpSet, Name: UndoName, Value: undo}}})
		if err != nil {
			t.Fatal(err)
		}
		res := activate(t, b, env)
		wantVar(t, res.Env, "PATH", b.Prefix+"/bin:/usr/bin")
		if len(res.Notes) == 0 {
			t.Errorf("undo %q: nothing said about it", undo)
		}
		if _, err := Undo(env); !errors.Is(err, ErrUndo) {
			t.Errorf("undo %q: error %v", undo, err)
		}
	}
}

func TestActivateWithoutPATH(t *testing.T) {
	in := site(t, "aa", "linux-64", nil)
	res := activate(t, in, nil)
	wantVar(t, res.Env, "PATH", in.Prefix+"/bin:/usr/local/bin:/usr/bin:/bin")
	back, err := Undo(res.Env)
	if err != nil || len(back) != 0 {
		t.Errorf("undone: %q, %v", back, err)
	}
}

func TestActivateFailureChangesNothing(t *testing.T) {
	in := site(t, "aa", "linux-64", map[string]string{"etc/conda/activate.d/bad.sh": "exit 3\n"})
	in.Env = []string{"PATH=/usr/bin:/bin"}
	res, err := Activate(context.Background(), in)
	if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), "activate.d/bad.sh") || res.Env != nil {
		t.Errorf("result %+v, error %v", res, err)
	}
}

func TestActivateRefusesWhatTheKernelWould(t *testing.T) {
	in := site(t, "aa", "linux-64", nil)
	in.Env = []string{"PATH=" + strings.Repeat("/x:", 44000)}
	if _, err := Activate(context.Background(), in); err == nil || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("error %v, want one that names PATH", err)
	}
}

func TestManifestScriptInPlaceOrAsPinned(t *testing.T) {
	root := t.TempDir()
	const text = "export AT=${BASH_SOURCE[0]}\n"
	write(t, root, map[string]string{"scripts/env.sh": text})
	in := site(t, "aa", "linux-64", nil)
	in.Manifest = &Manifest{Name: "p", Root: root, File: "pixi.toml", Scripts: map[string][]Script{"": {{Path: "scripts/env.sh", Content: text}}}}
	res := activate(t, in, []string{"PATH=/usr/bin"})
	wantVar(t, res.Env, "AT", root+"/scripts/env.sh")
	write(t, root, map[string]string{"scripts/env.sh": "export AT=changed\n"})
	res = activate(t, in, []string{"PATH=/usr/bin"})
	if at, _ := lookup(res.Env, "AT"); at == "changed" || at == "" || len(res.Notes) != 1 {
		t.Errorf("AT = %q, notes %q: want the pinned content and one note", at, res.Notes)
	}
}

// Whatever the environment was, activating and undoing gives it back.
func TestActivateUndoProperty(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	names := []string{"PATH", "LD_LIBRARY_PATH", "MANPATH", "FOO", "CFLAGS", "A", "NEW"}
	for i := 0; i < 800; i++ {
		in := Input{ID: "aa", Platform: "linux-64", Prefix: "/p/aa", EnvName: "default"}
		for n := r.Intn(6); n >= 0; n-- {
			kind := []string{OpSet, OpUnset, OpPrepend, OpAppend}[r.Intn(4)]
			op := Op{Kind: kind, Name: names[r.Intn(len(names))]}
			if kind != OpUnset {
				op.Value = randomValue(r)
			}
			if kind == OpPrepend || kind == OpAppend {
				op.Sep = []string{":", " "}[r.Intn(2)]
			}
			in.Static.Patch.Ops = append(in.Static.Patch.Ops, op)
		}
		env := randomEnv(r)
		res := activate(t, in, env)
		back, err := Undo(res.Env)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sorted(back), sorted(env); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d, %+v:\nundone %q\nwant   %q", i, in.Static.Patch.Ops, got, want)
		}
		// Switching platform and environment keeps that true.
		in.Platform = "linux-aarch64"
		res = activate(t, in, res.Env)
		in.ID, in.Prefix = "bb", "/p/bb"
		res = activate(t, in, res.Env)
		if back, err = Undo(res.Env); err != nil || !reflect.DeepEqual(sorted(back), sorted(env)) {
			t.Fatalf("round %d after switching: %q, %v\nwant %q", i, sorted(back), err, sorted(env))
		}
	}
}

func TestDiffProperty(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for i := 0; i < 5000; i++ {
		before, after := randomEnv(r), randomEnv(r)
		for j, kv := range before { // exported functions are never a difference
			if strings.HasPrefix(kv, "BASH_FUNC_") {
				before = append(before[:j:j], before[j+1:]...)
				break
			}
		}
		for j, kv := range after {
			if strings.HasPrefix(kv, "BASH_FUNC_") {
				after = append(after[:j:j], after[j+1:]...)
				break
			}
		}
		got, err := Apply(before, Diff(before, after))
		if err != nil || !reflect.DeepEqual(sorted(got), sorted(after)) {
			t.Fatalf("round %d: %q + diff = %q, %v; want %q", i, before, got, err, after)
		}
	}
}

func TestDiffSeesLists(t *testing.T) {
	got := Diff([]string{"PATH=/a:/b", "X=1", "_=1", "SHLVL=1", "CFLAGS=-O2"},
		[]string{"PATH=/n:/a:/b:/z", "X=1:2", "_=2", "SHLVL=2", "CFLAGS=-O2 -g", "PWD=/x"})
	want := []Op{
		{Kind: OpAppend, Name: "CFLAGS", Value: "-g", Sep: " "},
		{Kind: OpPrepend, Name: "PATH", Value: "/n", Sep: ":"},
		{Kind: OpAppend, Name: "PATH", Value: "/z", Sep: ":"},
		{Kind: OpSet, Name: "X", Value: "1:2"},
	}
	if !reflect.DeepEqual(got.Ops, want) {
		t.Errorf("got %+v", got.Ops)
	}
}

func FuzzDecodeUndo(f *testing.F) {
	good, err := encodeUndo(record{Common: []entry{{Name: "PATH", Kind: 'p', Value: "/x", Sep: ":"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("1.")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := decodeUndo(s)
		if err != nil {
			if !errors.Is(err, ErrUndo) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		e := parseEnviron([]string{"PATH=/x:/y", "A=1"})
		undoEntries(e, r.Platform)
		undoEntries(e, r.Common)
		for _, kv := range e.list() {
			if strings.ContainsRune(kv, 0) {
				t.Fatalf("an undo made %q", kv)
			}
		}
	})
}
