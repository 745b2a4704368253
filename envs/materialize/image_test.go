//go:build linux

package materialize_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/faultfs"
)

// images is the host's mksquashfs; without it the test is skipped, loudly.
func images(t testing.TB) *image.Tool {
	t.Helper()
	tool := image.NewTool("")
	if err := tool.Available(context.Background()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	return tool
}

// imageStore is a cluster's store that builds on another disk.
func imageStore(t testing.TB) *cache.Store {
	t.Helper()
	s := newStore(t)
	if err := s.UseLocal(filepath.Join(t.TempDir(), "build")); err != nil {
		t.Fatal(err)
	}
	return s
}

func imageRequest(t testing.TB, pkgs []materialize.Package, d image.Delivery) materialize.Request {
	req := request(pkgs)
	req.Delivery, req.Images = d, images(t)
	return req
}

// mustMatch: the published image is the one that its description tells of, and holds
// what the description says.
func mustMatch(t *testing.T, s *cache.Store, meta *materialize.Meta) {
	t.Helper()
	path := s.ImagePath(meta.Platform, meta.ID)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	if err := image.Check(f, meta.Image); err != nil {
		t.Error(err)
	}
	if sum, err := image.Hash(t.Context(), f); err != nil || sum != meta.Image.SHA256 {
		t.Errorf("sha256 %s (%v), noted %s", sum, err, meta.Image.SHA256)
	}
	held, err := materialize.ReadImage(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if held.Digest() != meta.TreeDigest || meta.Image.TreeDigest != meta.TreeDigest || len(held.Odd(false)) > 0 {
		t.Errorf("it holds %s, noted %s and %s; odd: %v", held.Digest(), meta.TreeDigest, meta.Image.TreeDigest, held.Odd(false))
	}
	if st, err := f.Stat(); err != nil || st.Mode() != 0o444 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// files lists the regular files below root.
func files(t *testing.T, root string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, strings.TrimPrefix(p, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Where images are all that a site wants, the store's storage sees archives, images
// and descriptions only.
func TestImagesAloneAreBuiltOnTheLocalDisk(t *testing.T) {
	s := imageStore(t)
	pkgs := build(t, s, sample()...)
	meta, made, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Image))
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	mustMatch(t, s, meta)
	for _, f := range files(t, s.Root()) {
		if top, _, _ := strings.Cut(f, "/"); top != "archives" && top != "images" && top != "meta" && f != "FORMAT" {
			t.Errorf("%s lies in the store", f)
		}
	}
	checkClean(t, s)
	if left, err := os.ReadDir(filepath.Join(s.Builds(), "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left in the build directory: %v, %v", left, err)
	}
	if meta.Cost != nil {
		t.Errorf("what does not stay costs the store nothing: %+v", meta.Cost)
	}
	again, made, err := materialize.Materialize(t.Context(), s, materialize.Request{ID: testID, Platform: testPlatform, Delivery: image.Image})
	if err != nil || made || again.Delivered != image.Image {
		t.Errorf("again: %+v, %v, %v", again, made, err)
	}
	// It cannot serve what is to be linked from the pool.
	if _, _, err := materialize.Materialize(t.Context(), s, request(pkgs)); !errors.Is(err, cache.ErrStore) || !strings.Contains(err.Error(), "no trees") {
		t.Errorf("a tree: %v", err)
	}
}

// What is there in one form serves to make the other, whichever came first, and all
// ways end with the same image.
func TestOneFormServesTheOther(t *testing.T) {
	sums := map[string]bool{}
	for _, order := range [][]image.Delivery{{image.Both}, {image.Tree, image.Both}, {image.Image, image.Both}, {image.Tree, image.Image}, {image.Image, image.Tree}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			s := newStore(t)
			pkgs := build(t, s, sample()...)
			var meta *materialize.Meta
			for _, d := range order {
				var made bool
				var err error
				req := imageRequest(t, pkgs, d)
				if meta != nil && meta.Delivered == image.Tree {
					req.Packages, req.Derive = nil, true
				}
				if meta, made, err = materialize.Materialize(t.Context(), s, req); err != nil || !made {
					t.Fatalf("%s: made %v, %v", d, made, err)
				}
				there, err := materialize.Published(s, testID, testPlatform)
				if err != nil || there.Delivered != meta.Delivered {
					t.Errorf("%s: said %q, published %+v, %v", d, meta.Delivered, there, err)
				}
			}
			if meta.Delivered != image.Both {
				t.Errorf("delivered: %s", meta.Delivered)
			}
			mustMatch(t, s, meta)
			sums[meta.Image.SHA256] = true
			if got, err := materialize.TreeDigest(s.TreePath(testPlatform, testID)); err != nil || got != meta.TreeDigest {
				t.Errorf("tree digest %s, %v", got, err)
			}
			checkClean(t, s)
		})
	}
	if len(sums) != 1 {
		t.Errorf("%d different images", len(sums))
	}
}

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

// An image that no description knows of is not published, and gives way to one.
func TestImageWithoutARecord(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	if _, _, err := materialize.Materialize(t.Context(), s, request(pkgs)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.ImagePath(testPlatform, testID), []byte("something"), 0o444); err != nil {
		t.Fatal(err)
	}
	if m, err := materialize.Published(s, testID, testPlatform); err != nil || m.Delivered != image.Tree {
		t.Errorf("%+v, %v", m, err)
	}
	meta, made, err := materialize.Materialize(t.Context(), s, imageRequest(t, nil, image.Both))
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	mustMatch(t, s, meta)
	if _, _, err := materialize.Materialize(t.Context(), newStore(t), materialize.Request{ID: testID, Platform: testPlatform, Delivery: image.Image, Derive: true}); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("of a tree that is not there: %v", err)
	}
}

// Of many that want one image at once, one makes it.
func TestImageAtOnce(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	tool := images(t)
	var news, waited atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		own, err := cache.Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			req := request(pkgs)
			req.Delivery, req.Images = image.Image, tool
			req.OnWait = func() { waited.Add(1) }
			meta, made, err := materialize.Materialize(context.Background(), own, req)
			if err != nil || meta.Image == nil || meta.Delivered != image.Image {
				t.Errorf("%+v, %v", meta, err)
			}
			if made {
				news.Add(1)
			}
		})
	}
	wg.Wait()
	if news.Load() != 1 {
		t.Errorf("%d made it", news.Load())
	}
	checkClean(t, s)
}

// noise are files of bytes that no compression makes fewer.
func noise(size int) condatest.Package {
	data := make([]byte, size)
	state := uint32(1)
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return condatest.Package{Name: "noise", Version: "1", Build: "0", Files: []condatest.File{{Path: "share/noise", Content: string(data)}}}
}

// A disk without the room is named beforehand, with what it takes, and nothing is
// left on it; one that fills up on the way likewise.
func TestImageOnAFullDisk(t *testing.T) {
	images(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: a small disk was not mounted")
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("NO MOUNTS HERE: a small disk was not mounted: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", small).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	s := newStore(t)
	if err := s.UseLocal(filepath.Join(small, "build")); err != nil {
		t.Fatal(err)
	}
	pkgs := build(t, s, append(sample(), noise(15<<20))...)
	fails := func(what string) {
		t.Helper()
		_, made, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Image))
		if !errors.Is(err, image.ErrRoom) || made || !strings.Contains(err.Error(), small) || !strings.Contains(err.Error(), " MB") {
			t.Fatalf("%s: %v, %v", what, made, err)
		}
		for _, dir := range []string{filepath.Join(s.Builds(), "tmp"), filepath.Join(s.Root(), "images", testPlatform)} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s: left in %s: %v, %v", what, dir, left, err)
			}
		}
		checkClean(t, s)
	}
	// 15 of 24 MB are the pool's; the image is taken for half of that, and is all of it.
	fails("fills up on the way")
	ballast := filepath.Join(small, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("too small beforehand")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=64m", small).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	meta, _, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Image))
	if err != nil {
		t.Fatal(err)
	}
	mustMatch(t, s, meta)
}

// Storage that refuses or loses an operation leaves no image, and no part of one.
func TestImageOnFaultyStorage(t *testing.T) {
	images(t)
	for name, refuses := range map[string]func(op faultfs.Op) bool{
		"rename of the image": func(op faultfs.Op) bool { return op.Name == "rename" && strings.HasSuffix(op.Path, ".sqfs") },
		"rename of its record": func(op faultfs.Op) bool {
			return op.Name == "rename" && strings.HasPrefix(op.Path, "store/meta/")
		},
		"its creation":  func(op faultfs.Op) bool { return op.Name == "create" && strings.HasSuffix(op.Path, ".sqfs") },
		"its mode":      func(op faultfs.Op) bool { return op.Name == "setattr" && strings.HasSuffix(op.Path, ".sqfs") },
		"its directory": func(op faultfs.Op) bool { return op.Name == "mkdir" && strings.HasPrefix(op.Path, "store/tmp/image-") },
	} {
		t.Run(name, func(t *testing.T) {
			var on atomic.Bool
			f := faultfs.Mount(t, faultfs.Options{Rules: []faultfs.Rule{func(op faultfs.Op) syscall.Errno {
				if on.Load() && refuses(op) {
					return syscall.EIO
				}
				return 0
			}}})
			s := storeAt(t, f.Dir)
			if err := s.UseLocal(filepath.Join(t.TempDir(), "build")); err != nil {
				t.Fatal(err)
			}
			pkgs := build(t, s, sample()...)
			on.Store(true)
			_, made, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Image))
			if !errors.Is(err, cache.ErrStore) || !errors.Is(err, syscall.EIO) || made {
				t.Errorf("made %v, %v", made, err)
			}
			if _, err := materialize.Published(s, testID, testPlatform); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("published: %v", err)
			}
			on.Store(false)
			checkClean(t, s)
			meta, _, err := materialize.Materialize(t.Context(), s, imageRequest(t, pkgs, image.Image))
			if err != nil {
				t.Fatal(err)
			}
			mustMatch(t, s, meta)
		})
	}
}
