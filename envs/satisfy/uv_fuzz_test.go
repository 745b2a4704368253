package satisfy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// Any lock and any manifest give reasons or an error of a class; the reasons are
// the same each time.
func FuzzCheckUV(f *testing.F) {
	dir := filepath.Join("testdata", "workspace")
	lock, err := os.ReadFile(filepath.Join(dir, "uv.lock"))
	if err != nil {
		f.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lock, manifest)
	f.Add([]byte("version = 1\nrequires-python = \">=3.9\"\n"), []byte("[project]\nname = \"a\"\n"))
	f.Fuzz(func(t *testing.T, lock, manifest []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := satisfy.CheckUV(dir, lock)
		again, err2 := satisfy.CheckUV(dir, lock)
		if (err == nil) != (err2 == nil) || strings.Join(first, "\n") != strings.Join(again, "\n") {
			t.Errorf("%q, %v; then %q, %v", first, err, again, err2)
		}
		if err != nil && !errors.Is(err, lockfile.ErrLock) && !errors.Is(err, project.ErrManifest) {
			t.Error(err)
		}
	})
}
