package preflight_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

const (
	interpreter = "/lib64/ld-linux-x86-64.so.2"
	libc        = "/lib/x86_64-linux-gnu/libc.so.6"
	prefix      = "/opt/hpcenv/e/0123456789abcdef0123456789abcdef"
)

// world is a node's root with an environment in it, made of compiled files.
type world struct {
	t           testing.TB
	root, stage string
	in          *preflight.Input
	env         map[string]string
}

// newWorld is a node with a C library and an environment with a Python that needs it.
func newWorld(t testing.TB) *world {
	t.Helper()
	skip := func(why string) {
		if os.Getenv("HPCENV_REQUIRE_GCC") != "" {
			t.Fatal(why)
		}
		t.Skip("NO LIBRARIES CAN BE MADE: this test was not run: " + why)
	}
	if runtime.GOARCH != "amd64" {
		skip("it is written for amd64")
	}
	for _, program := range []string{"gcc", "ldconfig"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(err.Error())
		}
	}
	w := &world{t: t, root: t.TempDir(), stage: t.TempDir(), env: map[string]string{}}
	for _, file := range []string{interpreter, libc} {
		b, err := os.ReadFile(file)
		if err != nil {
			skip("it is written for Debian's multiarch: " + err.Error())
		}
		w.put(file, b)
	}
	w.in = &preflight.Input{
		Node: "n7", Root: w.root, Prefix: prefix,
		Facts: &facts.Facts{Version: facts.Version, Machine: "x86_64", Platform: "linux-64", PageSize: 4096, Glibc: "2.36", CPU: facts.CPU{Level: 2}},
		Env:   func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
	}
	w.python()
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) run(args ...string) {
	w.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = w.stage
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// put leaves a file on the node; a relative path is below the prefix.
func (w *world) put(at string, b []byte) {
	w.t.Helper()
	if !path.IsAbs(at) {
		at = path.Join(prefix, at)
	}
	file := filepath.Join(w.root, at)
	w.check(os.MkdirAll(filepath.Dir(file), 0o755))
	w.check(os.WriteFile(file, b, 0o755))
}

// word is a name that nobody knows.
func word() string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte('a' + rand.IntN(26))
	}
	return string(b)
}

// randomLibrary is a library's name that nobody knows.
func randomLibrary() string { return "lib" + word() + ".so.1" }

// compile makes a library that needs others, by their names; those that were never made
// are made for the linker alone. More arguments are gcc's.
func (w *world) compile(name string, needed []string, more ...string) []byte {
	w.t.Helper()
	args := []string{"gcc", "-shared", "-fPIC", "-nostdlib", "-o", name, w.source(), "-Wl,-soname," + name, "-Wl,--no-as-needed", "-L."}
	args = append(args, "-Wl,--enable-new-dtags,-rpath,$ORIGIN:$ORIGIN/..")
	w.run(append(append(args, w.linked(needed)...), more...)...)
	b, err := os.ReadFile(filepath.Join(w.stage, name))
	w.check(err)
	return b
}

func (w *world) linked(needed []string) (args []string) {
	for _, n := range needed {
		if _, err := os.Stat(filepath.Join(w.stage, n)); err != nil {
			w.run("gcc", "-shared", "-fPIC", "-nostdlib", "-o", n, w.source(), "-Wl,-soname,"+n)
		}
		args = append(args, "-l:"+n)
	}
	return args
}

func (w *world) source() string {
	file := filepath.Join(w.stage, word()+".c")
	w.check(os.WriteFile(file, fmt.Appendf(nil, "int f_%s(void) { return 1; }\n", word()), 0o644))
	return file
}

// lib compiles a library and puts it at a path.
func (w *world) lib(at string, needed ...string) {
	w.t.Helper()
	w.put(at, w.compile(path.Base(at), needed))
}

// python compiles the environment's program.
func (w *world) python(needed ...string) {
	w.t.Helper()
	c := filepath.Join(w.stage, "python.c")
	w.check(os.WriteFile(c, []byte("int main(void) { return 0; }\n"), 0o644))
	w.run(append([]string{"gcc", "-o", "python", c, "-L.", "-Wl,--no-as-needed", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib"}, w.linked(needed)...)...)
	b, err := os.ReadFile(filepath.Join(w.stage, "python"))
	w.check(err)
	w.put("bin/python3.12", b)
	w.check(os.RemoveAll(filepath.Join(w.root, prefix, "bin/python")))
	w.check(os.Symlink("python3.12", filepath.Join(w.root, prefix, "bin/python")))
}

// survey fills in what the environment's files need, and moves them out of the node:
// from here on nothing of the prefix can be read.
func (w *world) survey() *needs.Needs {
	w.t.Helper()
	w.put("/etc/ld.so.conf", []byte("/usr/lib\n/usr/local/lib\n"))
	w.run("ldconfig", "-r", w.root)
	top := filepath.Join(w.root, prefix)
	n := needsOf(w.t, top)
	if w.in.Needs != nil {
		n.Stack, n.Locked = w.in.Needs.Stack, w.in.Needs.Locked
	}
	w.check(os.Rename(top, filepath.Join(w.t.TempDir(), "prefix")))
	w.in.Needs = n
	return n
}

// needsOf is what a prefix needs; all of it is of one package.
func needsOf(t testing.TB, top string) *needs.Needs {
	t.Helper()
	n, err := needs.Of(context.Background(), &needs.Input{Root: top, Prefix: prefix, Subdir: "linux-64"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Modules {
		n.Modules[i].Package = "pack 1.0"
	}
	for i := range n.Libraries {
		n.Libraries[i].Package = "pack 1.0"
	}
	return n
}

// found makes the checks and returns the findings of one, all levels.
func (w *world) found(id string) (found []preflight.Finding) {
	w.t.Helper()
	if w.in.Needs == nil || w.in.Needs.Prefix.Objects == nil {
		w.survey()
	}
	copied := *w.in // what was judged before is not kept
	for _, f := range preflight.Run(context.Background(), &copied, false).Findings {
		if f.ID == id {
			found = append(found, f)
		}
		if f.Level == preflight.Unknown {
			w.t.Errorf("%s could not be checked: %s", f.ID, f.Evidence)
		}
		if (f.Level == preflight.Fits) != (f.Next == "" && f.Act == "") {
			w.t.Errorf("%s, %s: next %q, who %q", f.ID, f.Level, f.Next, f.Act)
		}
	}
	return found
}

// want is one finding of a check, at a level and with words in it.
func (w *world) want(id string, level preflight.Level, words ...string) {
	w.t.Helper()
	found := w.found(id)
	if len(found) != 1 {
		w.t.Fatalf("%s: %d findings: %v", id, len(found), found)
	}
	f := found[0]
	if f.Level != level {
		w.t.Errorf("%s: %s, want %s: %s", id, f.Level, level, f.Evidence)
	}
	for _, word := range words {
		if !strings.Contains(f.Evidence+"\nnext: "+f.Next, word) {
			w.t.Errorf("%s: no %q in: %s\nnext: %s", id, word, f.Evidence, f.Next)
		}
	}
}

// none: a check says nothing.
func (w *world) none(id string) {
	w.t.Helper()
	if found := w.found(id); len(found) > 0 {
		w.t.Errorf("%s: %v", id, found)
	}
}
