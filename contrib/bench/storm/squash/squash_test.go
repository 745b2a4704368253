package squash

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// made is an image of a folder with small and large files, many names, and links.
func made(t *testing.T, options ...string) (dir, image string) {
	t.Helper()
	if _, err := exec.LookPath("mksquashfs"); err != nil {
		t.Skip("MKSQUASHFS IS MISSING: install squashfs-tools to test reading images")
	}
	dir, image = t.TempDir(), filepath.Join(t.TempDir(), "x.sqfs")
	for name, size := range map[string]int{"lib/deep/big": 700_001, "lib/exact": 131072, "lib/small": 100, "empty": 0} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintln(&b, name, i)
		}
		if err := os.WriteFile(path, b.Bytes()[:size], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1200 { // a listing of several blocks
		if err := os.WriteFile(filepath.Join(dir, "lib", fmt.Sprintf("name%04d", i)), []byte{byte(i)}, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"lib/to": "deep/big", "lib/loop": "loop", "out": "/etc/passwd", "up": "lib/../lib/small"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{dir, image, "-comp", "zstd", "-Xcompression-level", "3", "-noappend", "-quiet", "-no-progress", "-no-xattrs"}, options...)
	if out, err := exec.Command("mksquashfs", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, image
}

func open(t *testing.T, image string) *Image {
	t.Helper()
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	i, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestAllOfIt: every file is found, and using all of them touches nearly all bytes
// of the image and no more.
func TestAllOfIt(t *testing.T) {
	for _, options := range [][]string{nil, {"-no-fragments"}, {"-noI", "-no-exports"}, {"-b", "1M"}} {
		dir, path := made(t, options...)
		i := open(t, path)
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				return err
			}
			n, err := i.Walk(rel, false)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if !d.IsDir() && n.Size != info.Size() || n.Dir() != d.IsDir() {
				t.Errorf("%s has %d bytes, want %d", rel, n.Size, info.Size())
			}
			if d.IsDir() {
				return i.List(n)
			}
			return i.Read(n, 0, info.Size())
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		// Not used: the table for exporting, ids, and what fills the last block of 4 KiB.
		got, _ := i.Touched()
		if used := int64(i.super.used); got > used || got < used-16384 || used > info.Size() {
			t.Errorf("%v: %d bytes of %d are touched", options, got, used)
		}
	}
}

func TestPaths(t *testing.T) {
	_, path := made(t)
	i := open(t, path)
	for _, c := range []struct {
		path   string
		follow bool
		size   int64
	}{{"lib/deep/big", true, 700_001}, {"lib/to", true, 700_001}, {"lib/to", false, 8}, {"up", true, 100}, {"lib/deep/../../lib/./exact", true, 131072}} {
		n, err := i.Walk(c.path, c.follow)
		if err != nil || n.Size != c.size {
			t.Errorf("%s: %v, %v, want %d bytes", c.path, n, err, c.size)
		}
	}
	for _, p := range []string{"lib/name9", "gone", "out"} {
		if _, err := i.Walk(p, true); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := i.Walk("lib/loop", true); err == nil {
		t.Error("a link that leads to itself leads somewhere")
	}
}

// TestOnlyWhatIsRead: a page of a large file is one block, and that again is none.
func TestOnlyWhatIsRead(t *testing.T) {
	_, path := made(t)
	i := open(t, path)
	n, err := i.Walk("lib/deep/big", true)
	if err != nil {
		t.Fatal(err)
	}
	read := func(offset, size int64) int {
		t.Helper()
		_, before := i.Touched()
		if err := i.Read(n, offset, size); err != nil {
			t.Fatal(err)
		}
		_, after := i.Touched()
		return after - before
	}
	for _, c := range []struct {
		offset, size int64
		want         int
	}{{4096, 4096, 1}, {0, 131072, 0}, {131071, 2, 1}, {262144, 262145, 3}, {800_000, 10, 0}} {
		if got := read(c.offset, c.size); got != c.want {
			t.Errorf("bytes %d+%d touch %d blocks more, want %d", c.offset, c.size, got, c.want)
		}
	}
}

// FuzzImage: whatever the bytes, there is an answer or an error.
func FuzzImage(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0}, 96), "a/b")
	f.Add(append([]byte("hsqs"), bytes.Repeat([]byte{1}, 400)...), "lib")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		i, err := Open(bytes.NewReader(data))
		if err != nil {
			return
		}
		n, err := i.Walk(path, true)
		if err == nil && !strings.Contains(path, "\x00") {
			if err := i.List(n); err == nil {
				_, pieces := i.Touched()
				if pieces == 0 {
					t.Error("nothing is touched")
				}
			}
		}
	})
}
