package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/internal/faultfs"
)

// faultyStore is a store with one file of text on a faulty file system.
func faultyStore(t *testing.T, opt faultfs.Options) (*Store, Entry, string, *faultfs.FS) {
	t.Helper()
	f := faultfs.Mount(t, opt)
	s, err := Create(filepath.Join(f.Dir, "s"), Format{Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	m := mustIngest(t, s, makeConda(t, member{name: "a", body: "text"}), FormatConda)
	dir := filepath.Join(f.Dir, "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return s, m.Entries[0], dir, f
}

// TestLinkWhereServersRefuse: one probe decides; no file is tried in vain.
func TestLinkWhereServersRefuse(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.EXDEV, unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS, unix.EMLINK} {
		t.Run(errno.Error(), func(t *testing.T) {
			s, e, dir, f := faultyStore(t, faultfs.Options{Rules: []faultfs.Rule{faultfs.NoLinks(errno)}})
			l := newLinker(t, s, dir)
			if l.Method() != Copy {
				t.Errorf("method %s", l.Method())
			}
			for i := range 5 {
				place(t, l, e, fmt.Sprintf("%s/%d", dir, i), "text", Copy)
			}
			if n := f.Count("link"); n > 1 {
				t.Errorf("%d links were tried, want the probe's at most", n)
			}
		})
	}
}

// TestLinkWithFewLinksPerInode: siblings take over, each used up before the
// next is made, and another process goes on from the last of them.
func TestLinkWithFewLinksPerInode(t *testing.T) {
	const limit, n = 4, 20
	s, e, dir, f := faultyStore(t, faultfs.Options{Rules: []faultfs.Rule{faultfs.MaxLinks(limit)}})
	l := newLinker(t, s, dir)
	for i := range n {
		place(t, l, e, fmt.Sprintf("%s/%d", dir, i), "text", Hardlink)
	}
	// A pool file is one of its inode's names itself.
	want := (n + limit - 2) / (limit - 1)
	files, bytes := l.Siblings()
	if got := len(poolFiles(t, s)); got != want || files != want-1 || bytes != int64(4*(want-1)) {
		t.Errorf("%d pool files, %d siblings of %d bytes; want %d files", got, files, bytes, want)
	}
	again, err := Open(s.root)
	if err != nil {
		t.Fatal(err)
	}
	before := f.Count("link")
	l2 := newLinker(t, again, dir)
	place(t, l2, e, dir+"/more", "text", Hardlink)
	if files, _ := l2.Siblings(); files != 0 || len(poolFiles(t, s)) != want {
		t.Error("another process made a sibling though the last one takes links")
	}
	if tried := f.Count("link") - before; tried > 3 {
		t.Errorf("another process tried %d links", tried)
	}
}

// TestLastSibling: any number of siblings is found.
func TestLastSibling(t *testing.T) {
	dir := t.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for n := range 40 {
		if err := os.WriteFile(filepath.Join(dir, siblingName("p", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int{0, n / 2, n} {
			if got, err := lastSibling(int(d.Fd()), "p", from); got != n || err != nil {
				t.Fatalf("of %d from %d: %d, %v", n, from, got, err)
			}
		}
	}
}
