package activation

import (
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// write makes files below root, parents included.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lookup(env []string, name string) (string, bool) {
	return parseEnviron(env).get(name)
}

func wantVar(t *testing.T, env []string, name, want string) {
	t.Helper()
	got, ok := lookup(env, name)
	if !ok || got != want {
		t.Errorf("%s = %q (set: %v), want %q", name, got, ok, want)
	}
}

func wantUnset(t *testing.T, env []string, name string) {
	t.Helper()
	if got, ok := lookup(env, name); ok {
		t.Errorf("%s = %q, want it not set", name, got)
	}
}

func sorted(env []string) []string {
	out := append([]string(nil), env...)
	sort.Strings(out)
	return out
}

// nasty are values that quoting and list handling get wrong first.
var nasty = []string{"", "a", "a b", "it's", `"q"`, `$HOME`, "`id`", `\`, `\\`, "a\nb", "!x", "a!b !! !$", "*", "~", "#", ":a", "a:", ":", "::", "a::b",
	"é\u200b", "\x01\x7f", "-n", "a;b|c&d", "%s", "{a,b}", "[x]", "a=b", "\t x \t", "\\\n", "'\\''", "^a^b", "\xff\xfe"}

func randomValue(r *rand.Rand) string {
	if r.Intn(2) == 0 {
		return nasty[r.Intn(len(nasty))]
	}
	var b strings.Builder
	for n := r.Intn(4); n >= 0; n-- {
		b.WriteString(nasty[r.Intn(len(nasty))])
		if r.Intn(2) == 0 {
			b.WriteByte(':')
		}
	}
	return b.String()
}

// randomEnv is an environment with some of the variables that activation
// touches, and others.
func randomEnv(r *rand.Rand) []string {
	names := []string{"PATH", "LD_LIBRARY_PATH", "MANPATH", "FOO", "BAR", "CFLAGS", "HOME", "A", "PIXI_X", "XDG_DATA_DIRS", "BASH_FUNC_module%%", "PYTHONNOUSERSITE"}
	var env []string
	for _, n := range names {
		if r.Intn(3) > 0 {
			env = append(env, n+"="+randomValue(r))
		}
	}
	return env
}
