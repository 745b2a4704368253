package facts_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

var update = flag.Bool("update", false, "write testdata/golden.txtar anew; then read the difference")

// summary has every fact, a line each, for people to compare with the tree.
func summary(f *facts.Facts) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("machine %s platform %s", f.Machine, f.Platform)
	line("cpu %q of %q level %d: %s", f.CPU.Name, f.CPU.Vendor, f.CPU.Level, strings.Join(f.CPU.Ancestors, " "))
	line("because %s", f.CPU.Because)
	line("pages %d, glibc %q, kernel %q, squashfs %s %s", f.PageSize, f.Glibc, f.Kernel, f.Squashfs.Mounts, strings.Join(f.Squashfs.Compressors, " "))
	for _, n := range f.Networks {
		line("network %s %s port %d active %t, %g Gbit/s %s", n.Kind, n.Device, n.Port, n.Active, n.Rate, n.Problem)
	}
	if g := f.GPU; g != nil {
		line("gpu %s driver %q, CUDA %q, compute %q %s", g.Vendor, g.Driver, g.CUDA, g.Compute, g.Problem)
		for _, m := range g.Models {
			line("  %d x %s", m.Count, m.Name)
		}
	}
	for _, l := range f.MPI {
		line("mpi %s %s %s", l.Name, l.Path, l.Version)
	}
	for _, l := range f.PMI {
		line("pmi %s %s %s", l.Name, l.Path, l.Version)
	}
	for _, p := range f.Problems {
		line("problem %s", p)
	}
	for _, v := range facts.Virtuals(f, nil) {
		line("%s=%s=%s", v.Name, v.Version, v.Build)
	}
	return b.String()
}

// TestTrees reads every recorded node through the readers that read a live one.
func TestTrees(t *testing.T) {
	const file = "testdata/golden.txtar"
	var got txtar.Archive
	got.Comment = []byte("What package facts must read from the trees of factstest.\n")
	for _, name := range factstest.Names() {
		if strings.HasPrefix(name, "base-") {
			continue
		}
		f := facts.Read(context.Background(), factstest.Tree(t, name))
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(summary(f))})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(&got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(&got))); diff != "" {
		t.Errorf("facts differ from %s (-want +got):\n%s", file, diff)
	}
}

// tree unpacks a tree that the test itself writes.
func tree(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := factstest.UnpackText([]byte(text), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t testing.TB, text string) *facts.Facts {
	t.Helper()
	return facts.Read(context.Background(), tree(t, text))
}

// writeTree adds a file to a tree.
func writeTree(t testing.TB, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hasProblem: one of the lines has all words.
func hasProblem(f *facts.Facts, words ...string) bool {
	for _, p := range f.Problems {
		all := true
		for _, w := range words {
			all = all && strings.Contains(p, w)
		}
		if all {
			return true
		}
	}
	return false
}
