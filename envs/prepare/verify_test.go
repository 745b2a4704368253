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
		if !v.Same() || v.NoPlan != "" || v.Unknown > 40 {
			t.Errorf("%s: %+v", e.Platform, v)
		}
		t.Logf("%s: %d unknown", e.Platform, v.Unknown)
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
	// So is one that no plan knows the content of.
	if len(e.Meta.ByteCode.Own) != v.Unknown || v.Unknown == 0 {
		t.Fatalf("%d compiled files of its own, %d unknown", len(e.Meta.ByteCode.Own), v.Unknown)
	}
	for own := range e.Meta.ByteCode.Own {
		if err := os.WriteFile(filepath.Join(v.Root, own), []byte("evil"), 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := Verify(context.Background(), deps.Store, e.Meta)
		if err != nil || len(v.Differences) != 2 || v.Differences[0].Path != own && v.Differences[1].Path != own {
			t.Errorf("%s: %+v, %v", own, v.Differences, err)
		}
		break
	}
}

// Where all byte-code is known but that of sources with the prefix in them, a dry
// run counts inodes exactly, guesses the bytes of that, and says that it guesses.
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
	if !d.Estimated || d.Bytes < tookBytes*8/10 || d.Bytes > tookBytes*12/10 {
		t.Errorf("foreseen %d bytes (estimated: %v), taken %d", d.Bytes, d.Estimated, tookBytes)
	}
}
