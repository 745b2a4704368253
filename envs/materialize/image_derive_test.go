//go:build linux

package materialize_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Without its packages a tree is made of the image; it is the same, shares its inodes with
// the pool, and has no library twice by one inode. An image that is not what it was is
// told, and no tree is made of it.
func TestTreeOfAnImage(t *testing.T) {
	first := newStore(t)
	pkgs := build(t, first, sample()...)
	made, _, err := materialize.Materialize(t.Context(), first, imageRequest(t, pkgs, image.Both))
	if err != nil {
		t.Fatal(err)
	}
	// Another store has the image and its description, and nothing else.
	other := func() *cache.Store {
		s := newStore(t)
		for from, to := range map[string]string{
			first.ImagePath(testPlatform, testID): s.ImagePath(testPlatform, testID), first.MetaPath(testID, testPlatform): s.MetaPath(testID, testPlatform),
		} {
			data, err := os.ReadFile(from)
			if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o444)); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	s := other()
	req := imageRequest(t, nil, image.Both)
	req.Derive = true
	meta, isNew, err := materialize.Materialize(t.Context(), s, req)
	if err != nil || !isNew || meta.Delivered != image.Both || meta.Cost == nil {
		t.Fatalf("new %v, %+v, %v", isNew, meta, err)
	}
	tree := s.TreePath(testPlatform, testID)
	if got, err := materialize.TreeDigest(tree); err != nil || got != made.TreeDigest {
		t.Errorf("tree digest %s, %v", got, err)
	}
	libraries, shared := map[uint64]string{}, 0
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		if mode := info.Mode(); mode != 0o444 && mode != 0o555 || !info.ModTime().Equal(cache.FileTime) {
			t.Errorf("%s: %v %v", path, mode, info.ModTime())
		}
		if st.Nlink > 1 {
			shared++
		}
		data, err := os.ReadFile(path)
		if strings.HasPrefix(string(data), "\x7fELF") {
			if first := libraries[st.Ino]; first != "" {
				t.Errorf("%s and %s are one inode", first, path)
			}
			libraries[st.Ino] = path
		}
		return err
	})
	if err != nil || shared == 0 {
		t.Errorf("%d files share their inode, %v", shared, err)
	}
	mustMatch(t, s, meta)
	checkClean(t, s)
	if _, isNew, err := materialize.Materialize(t.Context(), s, req); err != nil || isNew {
		t.Errorf("again: new %v, %v", isNew, err)
	}
	bad := other()
	at := bad.ImagePath(testPlatform, testID)
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	data[meta.Image.Superblock.InodeTable/2] ^= 0xff // amid the data
	if err := errors.Join(os.Remove(at), os.WriteFile(at, data, 0o444)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := materialize.Materialize(t.Context(), bad, req); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), at) {
		t.Errorf("a damaged image: %v", err)
	}
	if _, err := os.Lstat(bad.TreePath(testPlatform, testID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a tree of a damaged image: %v", err)
	}
	checkClean(t, bad)
}
