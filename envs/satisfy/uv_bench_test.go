package satisfy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// BenchmarkCheckUV compares a project of HPCENV_UV_PROJECT with its lock.
func BenchmarkCheckUV(b *testing.B) {
	dir := os.Getenv("HPCENV_UV_PROJECT")
	if dir == "" {
		b.Skip("HPCENV_UV_PROJECT names no project")
	}
	data, err := os.ReadFile(filepath.Join(dir, "uv.lock"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := satisfy.CheckUV(dir, data); err != nil {
			b.Fatal(err)
		}
	}
}
