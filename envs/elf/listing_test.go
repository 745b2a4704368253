package elf

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestListingIsTheDisk: for random prefixes, links in all directions included, a listing
// says what the disk says of where paths lead and which modules there are.
func TestListingIsTheDisk(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		top := t.TempDir()
		dirs := []string{"lib", "lib/ucx", "lib/python3.12/site-packages/libucx/lib/ucx", "gex-wrapper/a/b", "opt", "lib/openmpi"}
		for _, d := range dirs {
			if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var paths []string
		for i := range 30 {
			at := dirs[r.IntN(len(dirs))] + fmt.Sprintf([]string{"/lib%d.so", "/mca_%d.so", "/librealm_gex_wrapper%d.so.1", "/d%d"}[r.IntN(4)], r.IntN(12))
			full := filepath.Join(top, at)
			if _, err := os.Lstat(full); err == nil {
				continue
			}
			var err error
			switch r.IntN(4) {
			case 0, 1:
				err = os.WriteFile(full, []byte("x"), 0o644)
			case 2:
				err = os.Symlink(fmt.Sprintf("lib%d.so", i%12), full)
			default:
				to := dirs[r.IntN(len(dirs))]
				if r.IntN(2) == 0 {
					to += fmt.Sprintf("/lib%d.so", r.IntN(12))
				}
				if r.IntN(3) > 0 {
					to = filepath.Join(top, to)
				} else if to, err = filepath.Rel(filepath.Dir(full), filepath.Join(top, to)); err != nil {
					t.Fatal(err)
				}
				err = os.Symlink(to, full)
			}
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, at, filepath.Dir(at)+"/../ucx/lib1.so", at+"/../lib2.so", at+"/lib3.so")
		}
		files, err := List(top)
		if err != nil {
			t.Fatal(err)
		}
		l := NewListing(top, files)
		for _, p := range paths {
			want, err := filepath.EvalSymlinks(top + "/" + p) // not joined: links come before ..
			st, serr := os.Stat(top + "/" + p)
			at, _, ok := l.Resolve(p)
			if serr == nil && st.IsDir() {
				if entries, err := filepath.Glob(want + "/*"); err != nil || len(entries) == 0 {
					continue // a directory without files is in no listing
				}
			}
			if there := err == nil && serr == nil; there != ok || ok && filepath.Join(top, at) != want {
				t.Errorf("seed %d: %s leads to %q, %v; on disk to %q, %v", seed, p, at, ok, want, serr)
			}
		}
		want, err := Modules(top)
		if err != nil {
			continue // a round of links
		}
		got, err := l.Modules()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d: modules (-disk +listing)\n%s", seed, d)
		}
	}
}
