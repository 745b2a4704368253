package stack

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The same Spec gives the same bytes, however many workers make them.
func TestDeterministic(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	first, err := Ensure(Tiny(), a, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(Tiny(), b, 4); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(first.Packages, first.Changed...) {
		name := filepath.Join(p.Subdir, p.File)
		x, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", name)
		}
	}
	if first.Changed[0].SHA256 == first.Changed[1].SHA256 {
		t.Error("two versions of the changed package are equal")
	}
}

// The generated sizes are those of the Spec, and the Python stack is as large as
// it must be.
func TestShape(t *testing.T) {
	s := Python()
	empty, patched, files := 0, 0, 0
	dirs := map[string]bool{}
	pkgs := s.shape()
	for _, p := range pkgs {
		for _, f := range p.files {
			files++
			dirs[p.name+filepath.Dir(f.path)] = true
			if f.size == 0 {
				empty++
			}
			if f.patch {
				patched++
			}
		}
	}
	if files < 25_000 || len(pkgs) < 100 {
		t.Errorf("%d files in %d packages", files, len(pkgs))
	}
	for what, ratio := range map[string]float64{
		"empty":   float64(empty) / float64(files) / s.Empty,
		"patched": float64(patched) / float64(files) / s.Patched,
		"per dir": float64(files) / float64(len(dirs)) / s.PerDir,
	} {
		if ratio < 0.9 || ratio > 1.1 {
			t.Errorf("%s is %g of what it should be", what, ratio)
		}
	}
}
