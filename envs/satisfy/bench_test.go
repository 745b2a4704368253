package satisfy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// BenchmarkCheck compares the largest lock of the shared data with a manifest
// that asks for all of it.
func BenchmarkCheck(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(testdata.Shared(b), "data", "locks", "NVIDIA__numba-cuda", "pixi.lock"))
	if err != nil {
		b.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pixi.toml"), []byte(invent(lock).text()), 0o600); err != nil {
		b.Fatal(err)
	}
	p, err := project.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		if problems, err := satisfy.Check(p, lock); err != nil || problems != nil {
			b.Fatal(problems, err)
		}
	}
}
