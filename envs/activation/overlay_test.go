package activation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// value of a variable; "-" = it is not set.
func value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return "-"
}

// TestOverlay: it comes before the prefix, is part of what is active, and goes
// with it.
func TestOverlay(t *testing.T) {
	in := func(id, overlay string, env []string) activation.Input {
		prefix := "/opt/e/" + id
		return activation.Input{Env: env, ID: id, Platform: "linux-64", Prefix: prefix, EnvName: "default", Overlay: overlay, Static: activation.Static{Patch: activation.Patch{Ops: []activation.Op{
			{Kind: activation.OpPrepend, Name: "PATH", Value: prefix + "/bin", Sep: ":"}, {Kind: activation.OpSet, Name: "CONDA_PREFIX", Value: prefix},
		}}}}
	}
	activate := func(i activation.Input) []string {
		t.Helper()
		res, err := activation.Activate(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		return res.Env
	}
	expect := func(env []string, path, overlay string) {
		t.Helper()
		if p, o := value(env, "PATH"), value(env, activation.OverlayName); p != path || o != overlay {
			t.Errorf("PATH %q, overlay %q", p, o)
		}
	}
	// What a stray variable says does not count.
	env := activate(in("a", "/o/a/1", []string{"PATH=/usr/bin", activation.OverlayName + "=/stray"}))
	expect(env, "/o/a/1/bin:/opt/e/a/bin:/usr/bin", "/o/a/1")
	if again := activate(in("a", "/o/a/1", env)); !slices.Equal(again, env) {
		t.Errorf("the same again changes something: %q", again)
	}
	expect(activate(in("a", "/o/a/2", env)), "/o/a/2/bin:/opt/e/a/bin:/usr/bin", "/o/a/2")
	expect(activate(in("a", "", env)), "/opt/e/a/bin:/usr/bin", "-")
	expect(activate(in("b", "", env)), "/opt/e/b/bin:/usr/bin", "-")
	expect(activate(in("b", "", []string{"PATH=/usr/bin", activation.OverlayName + "=/stray"})), "/opt/e/b/bin:/usr/bin", "-")
	// A login shell set PATH anew.
	lost := slices.Clone(env)
	for i, kv := range lost {
		if strings.HasPrefix(kv, "PATH=") {
			lost[i] = "PATH=/usr/bin"
		}
	}
	expect(activate(in("a", "/o/a/1", lost)), "/o/a/1/bin:/opt/e/a/bin:/usr/bin", "/o/a/1")
	left, err := activation.Undo(env)
	if err != nil {
		t.Fatal(err)
	}
	expect(left, "/usr/bin", "-")
}
