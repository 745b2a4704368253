package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCreateIgnoresTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	for _, prefixRoot := range []string{"", "/opt/e"} {
		s, err := Create(filepath.Join(t.TempDir(), "s"), Format{PrefixRoot: prefixRoot, Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
		if err != nil {
			t.Fatal(err)
		}
		mustHaveModes(t, s)
	}
}

func mustHaveModes(t *testing.T, s *Store) {
	if err := s.SaveFile(s.MetaPath("id", "linux-64"), 0o444, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TempDir("x"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		want := os.ModeDir | 0o755
		if path == s.root && s.format.PrefixRoot == "" {
			want = os.ModeDir | 0o700 // a user's own is nobody else's
		}
		if filepath.Base(path) == "inbox" && s.format.PrefixRoot != "" {
			want = os.ModeDir | os.ModeSticky | 0o733
		}
		st, err := os.Stat(path)
		if err == nil && st.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, st.Mode(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateTwice(t *testing.T) {
	root := filepath.Join(t.TempDir(), "s")
	f := Format{PrefixRoot: "/opt/e", Platforms: []string{"linux-aarch64", "linux-64"}, Clusters: []string{"b", "a"}, OwnerUID: os.Getuid()}
	if _, err := Create(root, f); err != nil {
		t.Fatal(err)
	}
	f.Platforms = []string{"linux-64", "linux-aarch64"}
	s, err := Create(root, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Format().text(); got != `{"version":1,"prefix_root":"/opt/e","platforms":["linux-64","linux-aarch64"],"clusters":["a","b"],"owner_uid":`+fmt.Sprint(os.Getuid())+`}` {
		t.Error(got)
	}
	f.PrefixRoot = "/opt/other"
	if _, err := Create(root, f); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "/opt/e") {
		t.Errorf("another format: %v", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, format string
		want         []string
	}{
		{"missing", "", []string{"no file FORMAT", "mounted"}},
		{"newer", `{"version": 2}`, []string{"layout version 2", "newer hpcenv"}},
		{"not JSON", `junk`, []string{"FORMAT", "not a store's format"}},
		{"no version", `{}`, []string{"layout version 0"}},
	} {
		root := t.TempDir()
		if c.format != "" {
			if err := os.WriteFile(filepath.Join(root, "FORMAT"), []byte(c.format), 0o444); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Open(root)
		if !errors.Is(err, ErrStore) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		for _, want := range append(c.want, root) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is missing in: %v", c.name, want, err)
			}
		}
	}
}

func TestPrefixes(t *testing.T) {
	own := newStore(t)
	id := strings.Repeat("a", 32)
	if got, want := own.Prefix("linux-64", id), own.Root()+"/trees/linux-64/"+id; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	site, err := Create(filepath.Join(t.TempDir(), "s"), Format{PrefixRoot: "/opt/e", Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	if got := site.Prefix("linux-64", id); got != "/opt/e/"+id || site.PrefixRoot() != "/opt/e" {
		t.Errorf("got %s", got)
	}
	// 110 = root + "/" + 32
	longest := "/" + strings.Repeat("r", 76)
	if err := PrefixLimit(longest + "/" + id); err != nil {
		t.Error(err)
	}
	err = PrefixLimit(longest + "r/" + id)
	if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "78 bytes, at most 77") {
		t.Errorf("got %v", err)
	}
	_, err = Create(filepath.Join(t.TempDir(), "s"), Format{PrefixRoot: longest + "r", Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestSaveFileIsAllOrNothing(t *testing.T) {
	s := newStore(t)
	path := s.MetaPath("id", "linux-64")
	save := func(text string, fail error) error {
		return s.SaveFile(path, 0o444, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fail
		})
	}
	if err := save("old", nil); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := save("new", mine); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
	mustHold(t, path, []byte("old"))
	if err := save("new", nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, []byte("new"))
	emptyDir(t, s, "tmp", "locks")
	if err := s.SaveFile("/elsewhere", 0o444, func(io.Writer) error { return nil }); !errors.Is(err, ErrStore) {
		t.Errorf("outside of the store: %v", err)
	}
}

func TestPublishDirKeepsTheFirst(t *testing.T) {
	s := newStore(t)
	final := s.TreePath("linux-64", "id")
	for _, text := range []string{"first", "second"} {
		dir, err := s.TempDir("tree")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
		if err := s.PublishDir(context.Background(), dir, final); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, filepath.Join(final, "f"), []byte("first"))
	emptyDir(t, s, "tmp", "locks")
}

func TestCleanTemp(t *testing.T) {
	s := newStore(t)
	old, err := s.TempDir("old")
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(s.root, "archives", strings.Repeat("0", 64)+".part")
	if err := os.WriteFile(part, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, p := range []string{old, part} {
		if err := os.Chtimes(p, long, long); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := s.TempDir("fresh")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.CleanTemp(24 * time.Hour); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	emptyDir(t, s, "tmp", "locks", filepath.Base(fresh))
	emptyDir(t, s, "archives")
}

func TestLockExcludesAndCanBeLeft(t *testing.T) {
	s := newStore(t)
	release, err := s.Lock(context.Background(), "k", func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waits := 0
	if _, err := s.Lock(ctx, "k", func() { waits++; cancel() }); !errors.Is(err, context.Canceled) || waits != 1 {
		t.Errorf("got %v after %d waits", err, waits)
	}
	got := make(chan error)
	go func() {
		r, err := s.Lock(context.Background(), "k", nil)
		if err == nil {
			err = r()
		}
		got <- err
	}()
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := s.Lock(context.Background(), "../x", nil); !errors.Is(err, ErrStore) {
		t.Errorf("got %v", err)
	}
}
