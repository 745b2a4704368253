package activation

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestShadow(t *testing.T) {
	prefix, theirs, more := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, prefix, map[string]string{"conda-meta/history": "", "lib/libssl.so.3": "ours", "lib/liba.so.1": "", "lib/libb.so.1": "", "lib/libc1.so.2": "", "lib/libd.so.1": "", "lib/libsame.so.1": ""})
	write(t, theirs, map[string]string{"libssl.so.3": "theirs", "libother.so.1": "", "libssl.so": "", "libssl.so.3.1.2": "", "readme": ""})
	write(t, more, map[string]string{"liba.so.1": "x", "libb.so.1": "x", "libc1.so.2": "x", "libd.so.1": "x", "libssl.so.3": "again"})
	if err := os.Link(filepath.Join(prefix, "lib/libsame.so.1"), filepath.Join(theirs, "libsame.so.1")); err != nil {
		t.Fatal(err)
	}
	st, err := FromTree(prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{ID: "aa", Platform: "linux-64", Prefix: prefix, Static: st, EnvName: "default"}
	activate := func(env []string) Result {
		t.Helper()
		in.Env = env
		res, err := Activate(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	says := func(res Result, n int, parts ...string) {
		t.Helper()
		text := strings.Join(res.Notes, "\n")
		if len(res.Notes) != n {
			t.Errorf("%d notes, want %d: %s", len(res.Notes), n, text)
		}
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("lacks %q: %s", p, text)
			}
		}
	}
	base := []string{"PATH=/usr/bin:/bin"}
	says(activate(base), 0)
	says(activate(append(base, "LD_LIBRARY_PATH=/nonexistent:relative::"+prefix+"/lib:"+theirs)), 0)
	one := activate(append(base, "LD_LIBRARY_PATH=/nonexistent:"+theirs))
	says(one, 1, filepath.Join(theirs, "libssl.so.3"), filepath.Join(prefix, "lib/libssl.so.3"))
	wantVar(t, one.Env, "LD_LIBRARY_PATH", "/nonexistent:"+theirs) // it is the user's
	// Each value is told once in a job, and a script's own later one again.
	again := activate(one.Env)
	says(again, 0)
	if len(again.Patch.Ops) != 0 {
		t.Errorf("%v", again.Patch)
	}
	changed, err := Apply(one.Env, Patch{Ops: []Op{{Kind: OpSet, Name: "LD_LIBRARY_PATH", Value: more + ":" + theirs}}})
	if err != nil {
		t.Fatal(err)
	}
	says(activate(changed), 4, "hides 2 more")
	// It is gone with the environment.
	undone, err := Undo(one.Env)
	if err != nil {
		t.Fatal(err)
	}
	wantUnset(t, undone, ShadowName)
	wantVar(t, undone, "LD_LIBRARY_PATH", "/nonexistent:"+theirs)
}

// A directory that cannot be listed hides nothing.
func TestShadowOddDirectories(t *testing.T) {
	lib := t.TempDir()
	write(t, lib, map[string]string{"libx.so.1": ""})
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := shadowed(context.Background(), filepath.Join(lib, "libx.so.1")+":/proc/self/mem:/", lib); found != nil {
		t.Errorf("%v", found)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if found := shadowed(ctx, pipe, lib); found != nil {
		t.Errorf("%v", found)
	}
}
