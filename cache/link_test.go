package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func newLinker(t testing.TB, s *Store, dir string) *Linker {
	t.Helper()
	l, err := s.NewLinker(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func lstat(t testing.TB, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func inode(t testing.TB, path string) uint64 { t.Helper(); return lstat(t, path).Ino }
func owner(t testing.TB, path string) uint32 { t.Helper(); return lstat(t, path).Uid }

// place links e to dst and checks method, content, mode and time.
func place(t testing.TB, l *Linker, e Entry, dst, body string, want Method) {
	t.Helper()
	got, err := l.Link(e, dst)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s: placed by %s, want %s", dst, got, want)
	}
	mustHold(t, dst, []byte(body))
	st, err := os.Stat(dst)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode() != poolMode(e.Exec) || !st.ModTime().Equal(FileTime) {
		t.Errorf("%s has mode %s and time %s", dst, st.Mode(), st.ModTime())
	}
}

func TestLink(t *testing.T) {
	s := newStore(t)
	m := mustIngest(t, s, makeConda(t, member{name: "a", body: "text", mode: 0o755}, member{name: "b", body: ""}), FormatConda)
	file, empty := m.Entries[0], m.Entries[1]
	dir := t.TempDir()
	l := newLinker(t, s, dir)
	place(t, l, file, dir+"/hard", "text", Hardlink)
	place(t, l, empty, dir+"/empty", "", Created)
	place(t, l, empty, dir+"/empty2", "", Created)
	if inode(t, dir+"/empty") == inode(t, dir+"/empty2") || inode(t, dir+"/hard") != inode(t, s.PoolPath(file.SHA256, true)) {
		t.Error("inodes are not as they should be")
	}
	noLink := file
	noLink.NoLink = true
	place(t, l, noLink, dir+"/copy", "text", Copy)
	if inode(t, dir+"/copy") == inode(t, dir+"/hard") {
		t.Error("NoLink was linked")
	}
	for _, e := range []Entry{file, noLink, empty} {
		if _, err := l.Link(e, dir+"/hard"); !errors.Is(err, os.ErrExist) {
			t.Errorf("onto something: %v", err)
		}
	}
	mustHold(t, dir+"/hard", []byte("text"))
	if _, err := l.Link(file, dir+"/absent/x"); !errors.Is(err, ErrStore) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into an absent directory: %v", err)
	}
	patched := file
	patched.Placeholder = "/p"
	if _, err := l.Link(patched, dir+"/p"); err == nil {
		t.Error("an entry with a placeholder was linked")
	}
	if err := os.Remove(s.PoolPath(file.SHA256, true)); err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{file, noLink} {
		if _, err := l.Link(e, dir+"/lost"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), file.SHA256) {
			t.Errorf("lost content: %v", err)
		}
	}
	emptyDir(t, s, "tmp", "locks")
}

// TestLinkAcrossFileSystems: the probe finds that only copies work.
func TestLinkAcrossFileSystems(t *testing.T) {
	s := newStore(t)
	m := mustIngest(t, s, makeConda(t, member{name: "a", body: "text"}), FormatConda)
	dir := mountTmpfs(t, "1m")
	l := newLinker(t, s, dir)
	if l.Method() != Copy {
		t.Errorf("the probe found that %s works across file systems", l.Method())
	}
	place(t, l, m.Entries[0], dir+"/a", "text", Copy)
}

// TestLinkBeyondTheLimitOfAnInode makes more links than an ext4 inode takes,
// from many goroutines.
func TestLinkBeyondTheLimitOfAnInode(t *testing.T) {
	if testing.Short() {
		t.Skip("SHORT: 65,000 links are not made")
	}
	s := newStore(t)
	m := mustIngest(t, s, makeConda(t, member{name: "a", body: "text", mode: 0o755}), FormatConda)
	e := m.Entries[0]
	dir := t.TempDir()
	const n = 65_100
	l := newLinker(t, s, dir)
	var group sync.WaitGroup
	var mu sync.Mutex
	var firstErr error
	for w := range 4 {
		sub := filepath.Join(dir, fmt.Sprint(w))
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		d, err := os.Open(sub)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			defer d.Close()
			for i := range n / 4 {
				if how, err := l.LinkAt(int(d.Fd()), fmt.Sprint(i), e); err != nil || how != Hardlink {
					mu.Lock()
					firstErr = fmt.Errorf("link %d: %s, %w", i, how, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	if firstErr != nil {
		t.Fatal(firstErr)
	}
	inodes := map[uint64]bool{}
	for _, name := range poolFiles(t, s) {
		inodes[inode(t, filepath.Join(s.root, "pool/files", name[:2], name))] = true
	}
	if len(inodes) != 2 {
		t.Skipf("NO LINK LIMIT HERE: %d links of one inode; run on ext4 to test siblings", n)
	}
	// Another process finds the sibling that is there, and makes no second one.
	s2, err := Open(s.root)
	if err != nil {
		t.Fatal(err)
	}
	place(t, newLinker(t, s2, dir), e, dir+"/more", "text", Hardlink)
	if got := poolFiles(t, s); len(got) != 2 {
		t.Errorf("pool holds %v", got)
	}
	emptyDir(t, s, "tmp", "locks")
}
