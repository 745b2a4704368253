package activation_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// What the site built comes after the packages' scripts, which do not know of it and may
// say that there is nothing; it goes with the environment, and changes with the node.
func TestSite(t *testing.T) {
	prefix := t.TempDir()
	script := filepath.Join(prefix, "etc/conda/activate.d/w.sh")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("echo noise\nexport W=\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	static, err := activation.FromTree(prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	activate := func(env []string, manifest *activation.Manifest, site ...activation.Op) []string {
		t.Helper()
		res, err := activation.Activate(context.Background(), activation.Input{Env: env, ID: "a", Platform: "linux-64", Prefix: prefix, EnvName: "default", Static: static, Manifest: manifest, Site: site})
		if err != nil {
			t.Fatal(err)
		}
		return res.Env
	}
	expect := func(when string, env []string, w, ld string) {
		t.Helper()
		if gotW, gotLD := value(env, "W"), value(env, "LD_LIBRARY_PATH"); gotW != w || gotLD != ld {
			t.Errorf("%s: W=%q LD_LIBRARY_PATH=%q", when, gotW, gotLD)
		}
	}
	w := func(v string) activation.Op { return activation.Op{Kind: activation.OpSet, Name: "W", Value: v} }
	ld := activation.Op{Kind: activation.OpPrepend, Name: "LD_LIBRARY_PATH", Value: "/o/lib", Sep: ":"}
	shell := []string{"PATH=/usr/bin", "LD_LIBRARY_PATH=/mine"}
	expect("without", activate(shell, nil), "", "/mine")
	env := activate(shell, nil, w("/o/w.so"), ld)
	expect("with", env, "/o/w.so", "/o/lib:/mine")
	if again := activate(env, nil, w("/o/w.so"), ld); !slices.Equal(again, env) {
		t.Errorf("the same again changes something: %q", again)
	}
	expect("on another node", activate(env, nil, w("/p/w.so")), "/p/w.so", "/mine")
	expect("on a node that has none", activate(env, nil), "", "/mine")
	expect("the user's own", activate(append(shell, "W=/mine.so"), nil, w("/o/w.so")), "/mine.so", "/mine")
	expect("the user's nothing", activate(append(shell, "W="), nil, w("/o/w.so")), "/o/w.so", "/mine")
	undone, err := activation.Undo(env)
	if err != nil {
		t.Fatal(err)
	}
	expect("undone", undone, "-", "/mine")
}
