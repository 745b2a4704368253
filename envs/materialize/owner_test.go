package materialize_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// TestOwner: what root makes in another's store belongs to the store's owner.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: only root makes files for another owner")
	}
	const uid = 54321
	s, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{
		PrefixRoot: "/opt/hpcenv/e", Platforms: []string{testPlatform}, OwnerUID: uid,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := materialize.Materialize(t.Context(), s, request(build(t, s, sample()...))); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(s.Root(), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if seen++; st.Sys().(*syscall.Stat_t).Uid != uid {
			t.Errorf("%s belongs to uid %d", p, st.Sys().(*syscall.Stat_t).Uid)
		}
		return nil
	})
	if err != nil || seen < 40 {
		t.Errorf("%d paths seen, %v", seen, err)
	}
}
