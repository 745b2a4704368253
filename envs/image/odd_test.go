package image

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Trees as packages can hold them, at the ends of what the format and file systems
// take: every path is read back as unsquashfs writes it.
func TestOddTrees(t *testing.T) {
	tl := tool(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, fill := range map[string]func(root string){
		"nothing": func(string) {},
		"names": func(root string) {
			for _, n := range []string{"a\nb", "-noappend", "\xff\xfe", strings.Repeat("n", 255), " ", "*", "\\", "a=b@type(f)", "\x01", "é", "é", "!"} {
				must(os.WriteFile(filepath.Join(root, n), []byte(n), 0o644))
				must(os.MkdirAll(filepath.Join(root, "d", n, n), 0o755))
			}
		},
		"links": func(root string) {
			must(os.Symlink("/etc/passwd", filepath.Join(root, "out")))
			must(os.Symlink(strings.Repeat("x/", 2000), filepath.Join(root, "long")))
			must(os.Symlink("..", filepath.Join(root, "up")))
			must(os.Symlink("self", filepath.Join(root, "self")))
			must(os.WriteFile(filepath.Join(root, "one"), []byte("1"), 0o644))
			must(os.Link(filepath.Join(root, "one"), filepath.Join(root, "two")))
			must(os.Chmod(filepath.Join(root, "two"), 0o4755|os.ModeSetuid|os.ModeSetgid))
		},
		"holes": func(root string) {
			for i, size := range []int64{1, blockSize - 1, blockSize, blockSize + 1, 5 << 20, 4<<30 + 12345} {
				f, err := os.Create(filepath.Join(root, fmt.Sprint("hole", i)))
				must(err)
				must(f.Truncate(size))
				if i%2 == 1 {
					_, err = f.WriteAt([]byte("end"), size-3)
					must(err)
				}
				must(f.Close())
			}
		},
		"many": func(root string) {
			for i := range 65536 {
				must(os.Symlink("x", filepath.Join(root, fmt.Sprintf("%032d-%d", i, i))))
			}
		},
		"deep": func(root string) {
			must(os.MkdirAll(filepath.Join(root, strings.Repeat("d/", 500)), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "tree")
			must(os.Mkdir(root, 0o755))
			fill(root)
			out := filepath.Join(t.TempDir(), "image")
			build(t, tl, root, out)
			got := 0
			f, err := os.Open(out)
			must(err)
			defer f.Close()
			st, err := f.Stat()
			must(err)
			img, err := Open(f, st.Size())
			must(err)
			must(sameAs(context.Background(), img, root, &got))
			n, err := exec.Command("sh", "-c", `find "$0" -printf x | wc -c`, root).Output()
			must(err)
			if strings.TrimSpace(string(n)) != fmt.Sprint(got) {
				t.Errorf("%d paths of %s", got, n)
			}
		})
	}
}

// sameAs compares an image with the tree that it was made of.
func sameAs(ctx context.Context, img *Reader, root string, n *int) error {
	return img.Walk(ctx, func(e *Entry, content io.Reader) error {
		*n++
		at := filepath.Join(root, e.Path)
		switch {
		case e.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			return fmt.Errorf("%q: %v", e.Path, e.Mode)
		case e.Mode&fs.ModeSymlink != 0:
			if target, err := os.Readlink(at); err != nil || target != e.Target {
				return fmt.Errorf("%q: %q, not %q (%v)", e.Path, e.Target, target, err)
			}
		case e.Mode.IsRegular():
			f, err := os.Open(at)
			if err != nil {
				return err
			}
			defer f.Close()
			a, b := bufio.NewReaderSize(content, 1<<20), bufio.NewReaderSize(f, 1<<20)
			ha, hb := sha256.New(), sha256.New()
			na, err := io.Copy(ha, a)
			if err != nil {
				return fmt.Errorf("%q: %w", e.Path, err)
			}
			nb, err := io.Copy(hb, b)
			if err != nil || na != nb || na != e.Size || !bytes.Equal(ha.Sum(nil), hb.Sum(nil)) {
				return fmt.Errorf("%q: other content (%d, %d, %d; %v)", e.Path, na, nb, e.Size, err)
			}
		}
		return nil
	})
}
