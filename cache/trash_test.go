package cache_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/faultfs"
)

const trashID = "00112233445566778899aabbccddeeff"

// trashable is a store with an environment's files, and their names.
func trashable(t *testing.T, root string) (*cache.Store, []string) {
	t.Helper()
	s, err := cache.Create(root, cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/x/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"images/linux-64/" + trashID + ".sqfs", "trees/linux-64/" + trashID, "meta/" + trashID + "/linux-64.needs.json", "meta/" + trashID + "/linux-64.json"}
	for _, f := range files {
		path := filepath.Join(root, f)
		if strings.HasPrefix(f, "trees") {
			path += "/bin/python"
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s, append(files, "images/linux-64/none.sqfs")
}

// state is which of the files are there, in their order: "1110".
func state(s *cache.Store, files []string) string {
	out := ""
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(s.Root(), f)); err == nil {
			out += "1"
		} else {
			out += "0"
		}
	}
	return out
}

func TestTrash(t *testing.T) {
	s, files := trashable(t, filepath.Join(t.TempDir(), "store"))
	now := time.Now()
	gone, err := s.Discard(trashID, "linux-64", "not used", now, files)
	if err != nil {
		t.Fatal(err)
	}
	if got := state(s, files); got != "00000" {
		t.Errorf("left: %s", got)
	}
	all, err := s.Trash()
	if err != nil || len(all) != 1 || all[0].ID != trashID || all[0].Why != "not used" || len(all[0].Files) != 4 {
		t.Fatalf("%+v %v", all, err)
	}
	if n, err := s.MendTrash(); n != 0 || err != nil {
		t.Errorf("%d to mend, %v", n, err)
	}
	if n, err := s.Purge(now.Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	if err := s.Restore(gone); err != nil {
		t.Fatal(err)
	}
	if got := state(s, files); got != "11110" {
		t.Errorf("brought back: %s", got)
	}
	if all, err := s.Trash(); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	if _, err := s.Discard(trashID, "linux-64", "", now, []string{"../out"}); !errors.Is(err, cache.ErrStore) {
		t.Errorf("%v", err)
	}
	if _, err := s.Discard("a/../..", "linux-64", "", now, files); !errors.Is(err, cache.ErrStore) {
		t.Errorf("%v", err)
	}
	if _, err := s.Discard(trashID, "linux-64", "", now, files); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(now.Add(time.Second)); n != 1 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	if left, err := filepath.Glob(filepath.Join(s.Root(), "t*", "*")); err != nil || slices.ContainsFunc(left, func(p string) bool { return strings.Contains(p, "purge") || strings.Contains(p, "trash/") }) {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestTrashKilled stops a removal, and a restoration, before each operation on the file
// system: whatever was done by then, what readers look for is there with all of it, or is
// not there; and the next start finishes it.
func TestTrashKilled(t *testing.T) {
	// From the left-th change on none is carried out any more; a negative number = all are.
	var left atomic.Int64
	left.Store(-1)
	f := faultfs.Mount(t, faultfs.Options{Rules: []faultfs.Rule{func(op faultfs.Op) syscall.Errno {
		switch op.Name {
		case "create", "mkdir", "symlink", "link", "rename", "unlink", "rmdir":
			if n := left.Load(); n == 0 || n > 0 && left.Add(-1) < 0 {
				left.Store(0)
				return syscall.EIO
			}
		}
		return 0
	}}})
	for _, restore := range []bool{false, true} {
		for n := 0; ; n++ {
			s, files := trashable(t, filepath.Join(f.Dir, fmt.Sprintf("store-%v-%d", restore, n)))
			want := "00000"
			var gone *cache.Trashed
			var err error
			if restore {
				if gone, err = s.Discard(trashID, "linux-64", "", time.Now(), files); err != nil {
					t.Fatal(err)
				}
			}
			left.Store(int64(n))
			if restore {
				want = "11110"
				err = s.Restore(gone)
			} else {
				_, err = s.Discard(trashID, "linux-64", "", time.Now(), files)
			}
			left.Store(-1)
			at := state(s, files)
			// The image or the tree is what readers find; with one of them goes the rest.
			if strings.Contains(at[:2], "1") && at[2:4] != "11" {
				t.Errorf("restore %v, stopped at %d: half an environment is to be seen (%s)", restore, n, at)
			}
			again, oerr := cache.Open(s.Root())
			if oerr != nil {
				t.Fatal(oerr)
			}
			if _, merr := again.MendTrash(); merr != nil {
				t.Fatalf("restore %v, stopped at %d: %v", restore, n, merr)
			}
			after := state(s, files)
			// Before it was noted what is to be done, nothing was done.
			before := map[bool]string{false: "11110", true: "00000"}[restore]
			if after != want && (after != before || at != before) {
				t.Errorf("restore %v, stopped at %d: %s, after the next start %s", restore, n, at, after)
			}
			if err == nil {
				if n < 5 {
					t.Errorf("only %d operations were stopped", n)
				}
				break
			}
		}
	}
}
