package linkscript

import (
	"os"
	"path/filepath"
	"testing"
)

// What is made accessible for removal is never what a link in a directory's place
// leads to.
func TestOpenDirsFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	elsewhere, link := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if err := openDirs(link); err == nil {
		t.Error("a link was taken for a directory")
	}
	if st, err := os.Stat(elsewhere); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", st, err)
	}
	closed := filepath.Join(dir, "tree", "closed")
	if err := os.MkdirAll(filepath.Join(closed, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Join(closed, "deep"), closed, filepath.Dir(closed)} {
		if err := os.Chmod(d, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := openDirs(filepath.Dir(closed)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(closed, "deep")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st, err)
	}
	if err := RemoveAll(filepath.Dir(closed)); err != nil {
		t.Error(err)
	}
}
