package smoke

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// python is a stand-in that does what the name of the module says.
const python = `#!/bin/sh
case $3 in
fine) exit 0 ;;
words) echo 'Traceback' >&2; echo 'ImportError: no such thing' >&2; echo >&2; exit 1 ;;
silent) exit 7 ;;
segv) kill -SEGV $$ ;;
hang) sleep 600 & sleep 600 ;;
leaves) sleep 600 & exit 0 ;;
here) touch "$PWD/wrote"; echo "$PWD" >&2; exit 1 ;;
esac
`

func try(t *testing.T, o Options, names ...string) map[string]Result {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	o.Prefix, o.Env = write(t, map[string]string{"bin/python": python}), os.Environ()
	var modules []Module
	for _, n := range names {
		modules = append(modules, Module{Name: n, How: Import})
	}
	out := map[string]Result{}
	if err := Try(t.Context(), o, modules, func(r Result) { out[r.Name] = r }); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return out
}

// TestTry: how each process ended, in one line.
func TestTry(t *testing.T) {
	got := try(t, Options{Parallel: 4}, "fine", "words", "silent", "segv", "here")
	if dir := got["here"].Error; dir == "" || strings.HasPrefix(dir, got["here"].Name) || filepath.Dir(dir) == "." {
		t.Errorf("tried in %q", dir)
	}
	delete(got, "here")
	for name, r := range got {
		r.Seconds = 0
		got[name] = r
	}
	want := map[string]Result{
		"fine":   {Module: Module{Name: "fine", How: Import}, OK: true},
		"words":  {Module: Module{Name: "words", How: Import}, Error: "ImportError: no such thing"},
		"silent": {Module: Module{Name: "silent", How: Import}, Error: "ended with exit code 7, without a word"},
		"segv":   {Module: Module{Name: "segv", How: Import}, Error: "ended by SIGSEGV (memory that is not there)", Signal: "SIGSEGV"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLate: a module that hangs is ended with what it started; one that leaves a
// process behind works.
func TestLate(t *testing.T) {
	got := try(t, Options{Limit: time.Second, Parallel: 2}, "hang", "fine")
	if r := got["hang"]; r.OK || r.Error != "has not ended in 1s" {
		t.Errorf("hang: %+v", r)
	}
	if !got["fine"].OK {
		t.Errorf("fine: %+v", got["fine"])
	}
	if got := try(t, Options{Limit: time.Minute}, "leaves"); !got["leaves"].OK {
		t.Errorf("leaves: %+v", got["leaves"])
	}
}

// TestInterrupted: what did not end by itself is not told.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	prefix := write(t, map[string]string{"bin/python": python})
	err := Try(ctx, Options{Prefix: prefix, Env: os.Environ()}, []Module{{Name: "hang", How: Import}, {Name: "fine", How: Import}}, func(r Result) { t.Errorf("told of %+v", r) })
	if err == nil {
		t.Error("no error")
	}
}

// TestOpenWithoutPython: the node's loader opens files, and says why it cannot.
func TestOpenWithoutPython(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("NO C COMPILER")
	}
	t.Setenv("TMPDIR", t.TempDir())
	prefix := t.TempDir()
	cc := func(args ...string) {
		t.Helper()
		cmd := exec.Command("gcc", append([]string{"-shared", "-fPIC", "-xc", "-"}, args...)...)
		cmd.Dir, cmd.Stdin = prefix, strings.NewReader("int f(void) { return 1; }\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v: %s", err, out)
		}
	}
	cc("-o", "libgone.so.1", "-Wl,-soname,libgone.so.1")
	cc("-o", "good.so")
	cc("-o", "bad.so", "-xnone", "-Wl,--no-as-needed", "libgone.so.1")
	if err := os.Remove(filepath.Join(prefix, "libgone.so.1")); err != nil {
		t.Fatal(err)
	}
	var got []Result
	err := Try(t.Context(), Options{Prefix: prefix, Env: os.Environ()}, []Module{{Name: "good.so", How: Open}, {Name: "bad.so", How: Open}}, func(r Result) { got = append(got, r) })
	if err != nil || len(got) != 2 || !got[0].OK || got[1].OK {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(got[1].Error, "cannot open shared object file") {
		t.Errorf("%q", got[1].Error)
	}
}

// TestLines: what is written is read, among what others print; what did not come is
// not there.
func TestLines(t *testing.T) {
	var b bytes.Buffer
	e := &Encoder{W: &b}
	begin := Begin{Node: "n1", Platform: "linux-64", ID: "0123", Prefix: "/p", Modules: 2}
	result := Result{Module: Module{Name: "a<b>", How: Import}, Error: "x & \"y\"\u2028z", Seconds: 1.5}
	for _, err := range []error{e.Begin(begin), e.Result(result)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var began int
	var other []string
	r, err := Read(strings.NewReader("motd\n"+b.String()+"bye\n"), func(Begin) { began++ }, func(l string) { other = append(other, l) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Report{Begin: &begin, Results: []Result{result}}, r); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if began != 1 || !slices.Equal(other, []string{"motd", "bye"}) {
		t.Errorf("began %d times, others %q", began, other)
	}
	if _, err := Read(strings.NewReader(mark+"{\n"), func(Begin) {}, func(string) {}); err == nil {
		t.Error("half a line is none")
	}
}
