package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
)

// tool is the host's mksquashfs; without it the test is skipped, loudly.
func tool(t testing.TB) *Tool {
	t.Helper()
	tl := NewTool("")
	if err := tl.Available(context.Background()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	return tl
}

// sample makes a tree that has all that a prefix can have: empty files, links, deep
// directories, large files, equal files, holes, odd names. The same seed gives the
// same tree digest; modes and hard links are as vary says.
func sample(t testing.TB, root string, seed uint64, vary bool) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(path string, data []byte, exec bool) {
		mode := fs.FileMode(0o444)
		if exec {
			mode = 0o555
		}
		if vary {
			mode |= 0o200
		}
		path = filepath.Join(root, path)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, data, 0o600))
		must(os.Chmod(path, mode))
	}
	text := func(n int) []byte {
		b := make([]byte, 0, n+20)
		for len(b) < n {
			b = fmt.Appendf(b, "line %d of this\n", rnd.IntN(1000))
		}
		return b[:n]
	}
	noise := make([]byte, 3*blockSize+17)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	file("bin/tool", noise, true)
	file("lib/libx.so", append(slices.Clone(noise[:5000]), text(2*blockSize)...), false)
	file("lib/whole-blocks", text(2*blockSize), false)
	file("lib/hole", make([]byte, 2*blockSize+5), false)
	file("lib/empty", nil, false)
	file("lib/a b\n\tä\\\"", []byte("odd name"), false)
	must(os.MkdirAll(filepath.Join(root, "empty dir"), 0o755))
	deep := strings.Repeat("d/", 40)
	file(deep+"file", text(10), false)
	for i := range 700 {
		file(fmt.Sprintf("lib/many/f%03d.py", i), text(rnd.IntN(9000)), i%50 == 0)
	}
	must(os.Symlink("../lib/libx.so", filepath.Join(root, "bin/link")))
	must(os.Symlink(strings.Repeat("x/", 300)+"nowhere", filepath.Join(root, "bin/dangling")))
	if vary {
		must(os.Link(filepath.Join(root, "lib/whole-blocks"), filepath.Join(root, "lib/same")))
		must(os.Chmod(filepath.Join(root, "lib"), 0o2775))
		must(os.Chmod(root, 0o700))
	} else {
		data, err := os.ReadFile(filepath.Join(root, "lib/whole-blocks"))
		must(err)
		file("lib/same", data, false)
		must(os.Chmod(filepath.Join(root, "lib/same"), 0o444))
	}
}

func build(t testing.TB, tl *Tool, tree, out string) *Record {
	t.Helper()
	rec, err := tl.Build(context.Background(), Job{Tree: tree, Digest: "d", Bytes: 8 << 20, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// One tree gives the same bytes wherever it lies, whoever owns it, with whatever
// modes, times and hard links, and however many processors work on it.
func TestSameTreeSameBytes(t *testing.T) {
	tl := tool(t)
	for seed := range uint64(3) {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "elsewhere", "deeper", "b")
		for _, d := range []string{a, b} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		sample(t, a, seed, false)
		old := syscall.Umask(0o077)
		sample(t, b, seed, true)
		syscall.Umask(old)
		if os.Geteuid() == 0 {
			if err := filepath.WalkDir(b, func(p string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(p, 12345, 54321))
			}); err != nil {
				t.Fatal(err)
			}
		}
		one := NewTool("")
		one.UseProcessors(1)
		ra, rb := build(t, tl, a, filepath.Join(dir, "a.sqfs")), build(t, one, b, filepath.Join(dir, "b.sqfs"))
		if diff := cmp.Diff(ra, rb); diff != "" {
			t.Errorf("seed %d: the records differ (-one +other):\n%s", seed, diff)
		}
		// By way of a local disk it is the same, too.
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		rc, err := tl.Build(context.Background(), Job{Tree: a, Digest: "d", Bytes: 8 << 20, Work: work, Out: filepath.Join(dir, "c.sqfs")})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ra, rc); diff != "" {
			t.Errorf("seed %d: by way of another directory the record differs:\n%s", seed, diff)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
			t.Errorf("left in the work directory: %v, %v", left, err)
		}
		if ra.Mksquashfs == "" || ra.Superblock.Compression != compZstd || ra.Superblock.Inodes < 700 {
			t.Errorf("the record lacks something: %+v", ra)
		}
	}
}

// listing is what is below a directory, in the form of described.
func listing(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		e := Entry{Path: rel, Mode: info.Mode(), Time: uint32(info.ModTime().Unix())}
		var content []byte
		switch {
		case info.Mode().IsRegular():
			e.Size = info.Size()
			content, err = os.ReadFile(p)
		case info.Mode()&fs.ModeSymlink != 0:
			e.Target, err = os.Readlink(p)
		}
		out = append(out, described(&e, content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func described(e *Entry, content []byte) string {
	return fmt.Sprintf("%q %v %d:%d %d %d %q %x", e.Path, e.Mode, e.UID, e.GID, e.Time, e.Size, e.Target, content)
}

func walked(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	img, err := Open(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	err = img.Walk(context.Background(), func(e *Entry, r io.Reader) error {
		var content []byte
		if r != nil {
			if content, err = io.ReadAll(r); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
		}
		out = append(out, described(e, content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The reader sees what unsquashfs unpacks.
func TestReaderAgreesWithUnsquashfs(t *testing.T) {
	tl := tool(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: unsquashfs cannot give files to root, so that it was not compared with")
	}
	dir := t.TempDir()
	tree, img := filepath.Join(dir, "tree"), filepath.Join(dir, "i.sqfs")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	sample(t, tree, 1, true)
	build(t, tl, tree, img)
	if out, err := exec.Command("unsquashfs", "-q", "-n", "-d", filepath.Join(dir, "out"), img).CombinedOutput(); err != nil {
		t.Fatalf("unsquashfs: %v: %s", err, out)
	}
	want, got := listing(t, filepath.Join(dir, "out")), walked(t, img)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reader differs from unsquashfs (-unsquashfs +reader):\n%.2000s", diff)
	}
	for _, line := range got {
		if strings.Contains(line, " -rw") || strings.Contains(line, " drw") || !strings.Contains(line, " 0:0 315619200 ") {
			t.Errorf("not everybody's to read only, root's, of 1980: %.200s", line)
		}
	}
}

// A flipped byte anywhere is found by Check, by the hash, or by neither only where
// the hash does.
func TestCheckFindsOtherFiles(t *testing.T) {
	tl := tool(t)
	dir := t.TempDir()
	tree, path := filepath.Join(dir, "tree"), filepath.Join(dir, "i.sqfs")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	sample(t, tree, 2, false)
	rec := build(t, tl, tree, path)
	check := func() error {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return Check(f, rec)
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := Hash(context.Background(), bytes.NewReader(whole)); err != nil || sum != rec.SHA256 {
		t.Errorf("hash %s (%v), recorded %s", sum, err, rec.SHA256)
	}
	for name, data := range map[string][]byte{
		"cut short": whole[:len(whole)-padTo], "longer": append(slices.Clone(whole), 0), "empty": nil, "not squashfs": make([]byte, len(whole)),
		"another superblock": append([]byte("hsqs\x01\x02"), whole[6:]...),
	} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := check(); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Check(f, rec); !errors.Is(err, cache.ErrIntegrity) {
		t.Errorf("a directory: %v", err)
	}
}

// Whatever bytes an image holds, reading it ends, with an error or without.
func FuzzReader(f *testing.F) {
	tl := NewTool("")
	if err := tl.Available(context.Background()); err == nil {
		dir := f.TempDir()
		tree := filepath.Join(dir, "tree")
		if err := os.MkdirAll(filepath.Join(tree, "d"), 0o755); err != nil {
			f.Fatal(err)
		}
		for name, data := range map[string]string{"a": "", "b": "text", "d/c": strings.Repeat("long ", 60_000)} {
			if err := os.WriteFile(filepath.Join(tree, name), []byte(data), 0o644); err != nil {
				f.Fatal(err)
			}
		}
		if err := os.Symlink("a", filepath.Join(tree, "l")); err != nil {
			f.Fatal(err)
		}
		build(f, tl, tree, filepath.Join(dir, "i"))
		data, err := os.ReadFile(filepath.Join(dir, "i"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		rnd := rand.New(rand.NewPCG(1, 1))
		for range 200 { // also without -fuzz damaged ones are read
			bad := slices.Clone(data)
			for range 1 + rnd.IntN(3) {
				bad[rnd.IntN(1024)%len(bad)] ^= byte(1 + rnd.IntN(255))
			}
			f.Add(bad)
		}
	}
	f.Add([]byte("hsqs"))
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		budget := int64(64 << 20)
		enough := errors.New("enough")
		_ = img.Walk(context.Background(), func(e *Entry, r io.Reader) error {
			if e.Path == "" || strings.HasPrefix(e.Path, "..") || strings.HasPrefix(e.Path, "/") {
				t.Fatalf("path %q", e.Path)
			}
			if r != nil {
				n, err := io.Copy(io.Discard, io.LimitReader(r, budget))
				if budget -= n; budget <= 0 {
					return enough
				}
				return err
			}
			return nil
		})
	})
}
