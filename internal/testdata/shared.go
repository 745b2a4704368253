// Package testdata finds the data that tests share and that is too large for
// the repository.
package testdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the directory of the shared data: $HPCENV_SHARED, or shared
// beside the repository. Where it is absent the test is skipped, and says so.
func Shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("HPCENV_SHARED")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(root(t)), "shared")
	}
	if st, err := os.Stat(filepath.Join(dir, "data")); err != nil || !st.IsDir() {
		t.Skipf("SHARED DATA ABSENT: %s has no directory data; set HPCENV_SHARED to run this test", dir)
	}
	return dir
}

// root is the repository's root: the nearest directory upwards with a go.mod.
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
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = up
	}
}
