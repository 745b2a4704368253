package preflight_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// manyModules is an environment of 25 modules of three programs, some of which lack
// something, and a node with InfiniBand.
func manyModules(t testing.TB) *world {
	t.Helper()
	w := stacked(t, condaUCX)
	w.lib("lib/libucs.so.0")
	w.lib("lib/libuct.so.0", "libucs.so.0")
	w.lib("lib/ucx/libuct_ib.so", "libibverbs.so.1", "libuct.so.0")
	w.lib("lib/ucx/libuct_cuda.so", "libcuda.so.1", "libuct.so.0")
	culprit := randomLibrary()
	for i := range 23 {
		dir := []string{"lib/ucx/libuct_", "lib/ucc/libucc_", "lib/openmpi/mca_"}[i%3]
		needed := []string{"libuct.so.0"}
		if i%5 == 0 {
			needed = append(needed, culprit)
		}
		w.lib(dir+word()+".so", needed...)
	}
	w.in.Facts.Networks = []facts.Network{mlx}
	w.survey()
	if n := len(w.in.Needs.Modules); n != 25 {
		t.Fatalf("%d modules", n)
	}
	return w
}

// tracedNeeds names, in a process of its own that is traced, where the needs are, and
// the node's root.
const tracedNeeds, tracedRoot = "HPCENV_TEST_TRACED_NEEDS", "HPCENV_TEST_TRACED_ROOT"

// TestPrefixIsNotRead: of an environment of which all is recorded, nothing is as much as
// looked for in the prefix.
func TestPrefixIsNotRead(t *testing.T) {
	if root := os.Getenv(tracedRoot); root != "" {
		traced(t, root)
		return
	}
	w := manyModules(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("NO STRACE: this test was not run: ", err)
	}
	b, err := json.Marshal(w.in.Needs)
	w.check(err)
	file := filepath.Join(t.TempDir(), "needs.json")
	w.check(os.WriteFile(file, b, 0o600))
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=%file", "-o", log, os.Args[0], "-test.run=^TestPrefixIsNotRead$")
	cmd.Env = append(os.Environ(), tracedNeeds+"="+file, tracedRoot+"="+w.root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err = os.ReadFile(log)
	w.check(err)
	node, inPrefix := 0, 0
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, w.root+prefix) {
			inPrefix++
			t.Error(line)
		} else if strings.Contains(line, w.root) {
			node++
		}
	}
	if node == 0 {
		t.Errorf("the trace shows nothing of the node:\n%s", b)
	}
	t.Logf("%d system calls with a path of the node, %d with one of the prefix", node, inPrefix)
}

func traced(t *testing.T, root string) {
	b, err := os.ReadFile(os.Getenv(tracedNeeds))
	if err != nil {
		t.Fatal(err)
	}
	n := new(needs.Needs)
	if err := json.Unmarshal(b, n); err != nil {
		t.Fatal(err)
	}
	in := &preflight.Input{Node: "n7", Root: root, Prefix: prefix, Needs: n,
		Facts: &facts.Facts{Machine: "x86_64", PageSize: 4096, Glibc: "2.36", CPU: facts.CPU{Level: 3}, Networks: []facts.Network{mlx}}}
	r := preflight.Run(context.Background(), in, true)
	ids := map[string]bool{}
	for _, f := range r.Findings {
		ids[f.ID] = true
	}
	if !ids["transports"] || !ids["modules"] || r.Level() != preflight.Warn {
		t.Errorf("%+v", r)
	}
}

// TestNodeOfWhichNothingIsKnown: a node with another C library is no reason not to run,
// and is said once.
func TestNodeOfWhichNothingIsKnown(t *testing.T) {
	w := manyModules(t)
	w.in.Root = t.TempDir()
	var unknown []string
	for _, f := range preflight.Run(context.Background(), w.in, true).Findings {
		if f.Level == preflight.Unknown {
			unknown = append(unknown, f.Evidence)
		} else if f.Level != preflight.Fits {
			t.Errorf("%+v", f)
		}
	}
	if len(unknown) != 1 || !strings.Contains(unknown[0], "no GNU dynamic loader") {
		t.Errorf("%q", unknown)
	}
}

// BenchmarkRun: all checks of an environment of 25 modules.
func BenchmarkRun(b *testing.B) {
	w := manyModules(b)
	for b.Loop() {
		in := *w.in
		if r := preflight.Run(context.Background(), &in, true); r.Level() != preflight.Warn {
			b.Fatalf("%+v", r)
		}
	}
}
