// Package testdata finds the real-world data that tests read. It is for tests
// only: nothing enters, the path of a directory leaves.
package testdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the directory of the shared data: $HPCENV_SHARED, or
// ../shared beside the repository. Where neither is there the test is skipped,
// loudly.
func Shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("HPCENV_SHARED")
	if dir == "" {
		dir = filepath.Join(root(t), "..", "shared")
	}
	info, err := os.Stat(filepath.Join(dir, "data"))
	if err != nil || !info.IsDir() {
		t.Skipf("SHARED DATA ABSENT: %s has no directory data; set HPCENV_SHARED to the directory that has it", dir)
	}
	return dir
}

// root is the directory of go.mod, upwards from where the test runs.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod upwards from the working directory")
		}
		dir = parent
	}
}
