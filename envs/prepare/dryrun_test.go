package prepare

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/faultfs"
)

// usage is how many inodes lie below root, and the bytes of the files among
// them; an inode with several names counts once.
func usage(t *testing.T, root string) (inodes int, bytes int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if ino := st.Sys().(*syscall.Stat_t).Ino; !seen[ino] {
			seen[ino] = true
			inodes++
			if st.Mode().IsRegular() {
				bytes += st.Size()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return inodes, bytes
}

// rich is a package with every kind of path that costs differently.
func rich(name string) condatest.Package {
	place := "/build/" + strings.Repeat("placehold_", 20)
	elf := "\x7fELF" + name
	return condatest.Package{Name: name, Version: "1", Build: "0", Subdir: "linux-64", Files: []condatest.File{
		{Path: "lib/" + name + ".so", Content: elf, Exec: true},
		{Path: "lib/" + name + ".so.1", Content: elf, Exec: true},
		{Path: "lib/link-" + name, Link: name + ".so"},
		{Path: "share/" + name + "/empty"},
		{Path: "share/" + name + "/text", Content: "root=" + place + " and " + place + "\n", Placeholder: place},
		{Path: "share/" + name + "/binary", Content: "\x7fELF\x00" + place + "\x00tail", Placeholder: place, Binary: true},
		{Path: "share/" + name + "/own", Content: "a copy", NoLink: true},
		{Path: "share/" + name + "/dir", Dir: true},
		{Path: "share/both", Content: "of " + name},
	}}
}

func TestDryRunTellsWhatItTakes(t *testing.T) {
	for name, c := range map[string]struct {
		rules []faultfs.Rule
		fuse  bool
	}{"hard links": {}, "copies": {fuse: true, rules: []faultfs.Rule{faultfs.NoLinks(unix.EPERM)}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.fuse {
				store, err := cache.Create(filepath.Join(faultfs.Mount(t, faultfs.Options{Rules: c.rules}).Dir, "s"), w.deps.Store.Format())
				if err != nil {
					t.Fatal(err)
				}
				w.deps.Store = store
			}
			a, b, other := w.addPackage(rich("aa")), w.addPackage(rich("bb")), w.addPackage(rich("cc"))
			if _, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {a, b, other}})}, nil); err != nil {
				t.Fatal(err)
			}
			root := w.deps.Store.Root()
			req := &Request{Lock: lock(map[string][]string{"linux-64": {a, b}}), DryRun: true}
			inodes, bytes := usage(t, root)
			res, err := Run(context.Background(), w.deps, req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i, n := usage(t, root); i != inodes || n != bytes {
				t.Errorf("a dry run took %d inodes, %d bytes", i-inodes, n-bytes)
			}
			d := res.DryRun
			if d == nil || d.Estimated || len(d.Fetch) != 0 || len(d.Environments) != 1 || d.Environments[0].Estimated {
				t.Fatalf("got %+v", d)
			}
			if got := d.Environments[0].Conflicts; len(got) != 1 || got[0].Path != "share/both" {
				t.Errorf("conflicts %+v", got)
			}
			req.DryRun = false
			made, err := Run(context.Background(), w.deps, req, nil)
			if err != nil {
				t.Fatal(err)
			}
			cost := made.Environments[0].Meta.Cost
			if e := d.Environments[0]; e.Inodes != cost.Inodes || e.Bytes != cost.Bytes {
				t.Errorf("the tree was to take %d inodes, %d bytes; it took %d, %d", e.Inodes, e.Bytes, cost.Inodes, cost.Bytes)
			}
			i, n := usage(t, root)
			if i-inodes != d.Inodes {
				t.Errorf("it was to take %d inodes, and took %d", d.Inodes, i-inodes)
			}
			// What describes lock and environment comes on top: a few thousand bytes.
			if took := n - bytes; took < d.Bytes || took > d.Bytes+8000 {
				t.Errorf("it was to take %d bytes, and took %d", d.Bytes, took)
			}
			// What is there takes nothing, and says what it is.
			req.DryRun = true
			res, err = Run(context.Background(), w.deps, req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := res.DryRun; d.Inodes != 0 || d.Bytes != 0 || d.Environments[0].New || len(d.Environments[0].Conflicts) != 1 {
				t.Errorf("of what is there: %+v", d)
			}
		})
	}
}

// Where packages are not there yet, or not even the store, it is an estimate,
// and nothing at all is made.
func TestDryRunOnNothing(t *testing.T) {
	w := newWorld(t)
	root := filepath.Join(t.TempDir(), "absent", "store")
	store, err := cache.Absent(root, w.deps.Store.Format())
	if err != nil {
		t.Fatal(err)
	}
	w.deps.Store = store
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.addPackage(rich("aa")), w.addPackage(rich("bb"))}}), DryRun: true}
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := res.DryRun
	if !d.Estimated || len(d.Fetch) != 2 || d.Inodes < 2 || d.Bytes < res.BytesFetched || !d.Environments[0].Estimated || d.Environments[0].Inodes == 0 {
		t.Errorf("got %+v", d)
	}
	if len(w.hits) > 0 {
		t.Errorf("fetched %v", w.hits)
	}
	if _, err := os.Lstat(filepath.Dir(root)); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
	req.DryRun = false
	if _, err := Run(context.Background(), w.deps, req, nil); err == nil {
		t.Error("a store that is not there took packages")
	}
}

// The order of a lock and the file system below do not show in ids and trees.
func TestSameTreeFromShuffledLocks(t *testing.T) {
	w := newWorld(t)
	entries := []string{w.addPackage(rich("aa")), w.addPackage(rich("bb")), w.addPackage(rich("cc")), w.add("dd", "linux-64")}
	var first *Environment
	for i, rules := range [][]faultfs.Rule{nil, {faultfs.NoLinks(unix.EXDEV)}, {faultfs.MaxLinks(3)}} {
		store, err := cache.Create(filepath.Join(faultfs.Mount(t, faultfs.Options{Delay: time.Millisecond, Rules: rules}).Dir, "s"), w.deps.Store.Format())
		if err != nil {
			t.Fatal(err)
		}
		w.deps.Store = store
		slices.Reverse(entries[i:])
		res, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": entries})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := res.Environments[0]
		if first == nil {
			first = &e
		}
		if e.ID != first.ID || e.Meta.TreeDigest != first.Meta.TreeDigest {
			t.Errorf("run %d: id %s, digest %s; first %s, %s", i, e.ID, e.Meta.TreeDigest, first.ID, first.Meta.TreeDigest)
		}
	}
}
