package prepare

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An environment with byte-code is verified path by path without a compiler;
// and what its dry run foresaw is what it took, within what an estimate is for.
func TestVerifyAndForeseeByteCode(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	req := demoRequest(t)
	req.DryRun = true
	before, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.DryRun = false
	inodes, bytes := usage(t, deps.Store.Root())
	res, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	i, b := usage(t, deps.Store.Root())
	took, tookBytes := i-inodes, b-bytes
	t.Logf("foreseen %d inodes, %d MB; taken %d, %d MB", before.DryRun.Inodes, before.DryRun.Bytes>>20, took, tookBytes>>20)
	if !before.DryRun.Estimated || before.DryRun.Inodes < took/4 || before.DryRun.Inodes > took*4 {
		t.Errorf("foreseen %d inodes, taken %d", before.DryRun.Inodes, took)
	}
	for _, e := range res.Environments {
		v, err := Verify(context.Background(), deps.Store, e.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Same() || v.NoPlan != "" || v.Unknown != 0 || v.PlanDigest != v.TreeDigest || len(e.Meta.ByteCode.Own) != 0 {
			t.Errorf("%s: %+v, of its own %v", e.Platform, v, e.Meta.ByteCode.Own)
		}
	}
	// A compiled file that was tampered with is named.
	e := res.Environments[0]
	codes, err := filepath.Glob(filepath.Join(deps.Store.TreePath(e.Platform, e.ID), "lib/python3.11/__pycache__/argparse.*.pyc"))
	if err != nil || len(codes) != 1 {
		t.Fatalf("%v, %v", codes, err)
	}
	if err := os.Remove(codes[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(codes[0], []byte("evil"), 0o444); err != nil {
		t.Fatal(err)
	}
	v, err := Verify(context.Background(), deps.Store, e.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if v.Same() || len(v.Differences) != 1 || !strings.HasSuffix(v.Differences[0].Path, filepath.Base(codes[0])) {
		t.Errorf("got %+v", v)
	}
}

// Where all byte-code is known, also that of sources with the prefix in them, a dry
// run tells exactly what trees take, and does not call it an estimate.
func TestDryRunOfKnownByteCode(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	req := demoRequest(t)
	if _, err := Run(context.Background(), deps, req, nil); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"trees", "meta"} {
		found, err := filepath.Glob(filepath.Join(deps.Store.Root(), dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			below, err := filepath.Glob(p + "/*")
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range below {
				if err := os.RemoveAll(b); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	req.DryRun = true
	before, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.DryRun = false
	inodes, bytes := usage(t, deps.Store.Root())
	if _, err := Run(context.Background(), deps, req, nil); err != nil {
		t.Fatal(err)
	}
	i, b := usage(t, deps.Store.Root())
	took, tookBytes, d := i-inodes, b-bytes, before.DryRun
	t.Logf("foreseen %d inodes, %d bytes; taken %d, %d", d.Inodes, d.Bytes, took, tookBytes)
	// Locks that are there already, and one directory per id in meta/.
	if slack := 2*len(d.Environments) + 1; d.Inodes < took-slack || d.Inodes > took+slack {
		t.Errorf("foreseen %d inodes, taken %d", d.Inodes, took)
	}
	// The environments' descriptions, and what they ask of a node, are what is not counted.
	described, err := filepath.Glob(filepath.Join(deps.Store.Root(), "meta", "*", "*.json"))
	if err != nil || len(described) != 2*len(d.Environments) {
		t.Fatalf("%v, %v", described, err)
	}
	for _, p := range described {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		tookBytes -= st.Size()
	}
	if d.Estimated || d.Bytes != tookBytes {
		t.Errorf("foreseen %d bytes (estimated: %v), taken %d", d.Bytes, d.Estimated, tookBytes)
	}
}
