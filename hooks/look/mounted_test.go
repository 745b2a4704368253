package look

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMountedByUsers: users can mount file systems of their own (FUSE) on directories of
// theirs. Root neither looks into them nor is kept from taking requests by them.
func TestMountedByUsers(t *testing.T) {
	dir := prepared(t)
	look := filepath.Join(dir, dirName)
	if err := asUser(t, "mkdir -p $1/a/b && : >$1/5", look); err != nil {
		t.Fatal(err)
	}
	theirs := t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "precious"), []byte("kept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// What stands for it: any file system that cannot be removed.
	if err := unix.Mount(theirs, filepath.Join(look, "a/b"), "", unix.MS_BIND, ""); err != nil {
		t.Skipf("NOTHING CAN BE MOUNTED HERE: %v", err)
	}
	if asked, err := Take(dir); !asked || err != nil {
		t.Errorf("%v %v", asked, err)
	}
	if b, err := os.ReadFile(filepath.Join(theirs, "precious")); err != nil || !bytes.Equal(b, []byte("kept\n")) {
		t.Errorf("root looked into it: %v", err)
	}
	if asked, err := Take(dir); asked || err != nil {
		t.Errorf("the requests were not taken: %v %v", asked, err)
	}
	if err := asUser(t, ": >$1/6", look); err != nil {
		t.Errorf("no more requests: %v", err)
	}
	if asked, err := Take(dir); !asked || err != nil {
		t.Errorf("%v %v", asked, err)
	}
}
