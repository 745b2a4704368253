package slowfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tree is a small directory to show.
func tree(t *testing.T) *Tree {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "lib", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lib/a.py": "import b\n", "lib/deep/big": string(bytes.Repeat([]byte("0123456789abcdef"), 40000)), "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("lib/a.py", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tree, err := Index(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// mount shows it. Where FUSE is impossible the test is skipped, loudly.
func mount(t *testing.T, tree *Tree, server *Server, opt Options) *Mount {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("FUSE IMPOSSIBLE: not root; run as root to test the slow file system")
	}
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skipf("FUSE IMPOSSIBLE: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := New(tree, server, t.TempDir(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// during is what f makes the kernel ask for.
func during(m *Mount, f func()) Counts {
	before := m.Counts()
	f()
	return m.Counts().Sub(before)
}

func stat(t *testing.T, path string) {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
}

func TestShowsTheDirectory(t *testing.T) {
	tr := tree(t)
	m := mount(t, tr, NewServer(0, 0, 1), Options{Cache: time.Minute})
	err := fs.WalkDir(os.DirFS(tr.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		want, err := os.Lstat(filepath.Join(tr.dir, path))
		if err != nil {
			return err
		}
		got, err := os.Lstat(filepath.Join(m.Dir, path))
		if err != nil {
			return err
		}
		if got.Mode() != want.Mode() || got.Size() != want.Size() && !d.IsDir() || !got.ModTime().Equal(want.ModTime()) {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
		switch {
		case d.Type().IsRegular():
			a, err := os.ReadFile(filepath.Join(tr.dir, path))
			if err != nil {
				return err
			}
			b, err := os.ReadFile(filepath.Join(m.Dir, path))
			if err != nil {
				return err
			}
			if !bytes.Equal(a, b) {
				t.Errorf("%s has another content", path)
			}
		case d.IsDir():
			a, err := os.ReadDir(filepath.Join(tr.dir, path))
			if err != nil {
				return err
			}
			b, err := os.ReadDir(filepath.Join(m.Dir, path))
			if err != nil {
				return err
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s lists %v, want %v", path, b, a)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(m.Dir, "link")); err != nil || to != "lib/a.py" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if err := os.WriteFile(filepath.Join(m.Dir, "new"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing: %v", err)
	}
}

func TestCountsWhatIsAskedFor(t *testing.T) {
	tr := tree(t)
	m := mount(t, tr, NewServer(0, 0, 1), Options{Cache: time.Minute})
	at := func(name string) string { return filepath.Join(m.Dir, name) }

	got := during(m, func() { stat(t, at("lib/a.py")) })
	if got.Ops[Lookup] != 2 || got.Metadata() != 2 || got.Bytes != 0 {
		t.Errorf("the first stat: %v", got)
	}
	if got := during(m, func() { stat(t, at("lib/a.py")) }); got.Metadata() != 0 {
		t.Errorf("the second stat: %v", got)
	}
	missing := func() {
		if _, err := os.Lstat(at("lib/b.py")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if got := during(m, missing); got.Ops[Missing] != 1 || got.Metadata() != 1 {
		t.Errorf("what is not there, first: %v", got)
	}
	if got := during(m, missing); got.Metadata() != 0 {
		t.Errorf("what is not there, again: %v", got)
	}
	read := func() {
		if _, err := os.ReadFile(at("lib/a.py")); err != nil {
			t.Error(err)
		}
	}
	if got := during(m, read); got.Ops[Open] != 1 || got.Metadata() != 1 || got.Ops[Read] == 0 || got.Bytes != int64(len("import b\n")) {
		t.Errorf("the first reading: %v", got)
	}
	if got := during(m, read); got.Ops[Open] != 1 || got.Metadata() != 1 || got.Bytes != 0 {
		t.Errorf("the second reading: %v", got)
	}
	list := func() {
		if _, err := os.ReadDir(at("lib")); err != nil {
			t.Error(err)
		}
	}
	if got := during(m, list); got.Ops[Opendir] != 1 || got.Ops[Readdir] != 2 {
		t.Errorf("the first listing: %v", got)
	}
	if got := during(m, list); got.Ops[Opendir] != 1 || got.Ops[Readdir] != 0 {
		t.Errorf("the second listing: %v", got)
	}

	// Another node has caches of its own, and counts for itself.
	other := mount(t, tr, NewServer(0, 0, 1), Options{Cache: time.Minute})
	before := m.Counts()
	if got := during(other, func() { stat(t, filepath.Join(other.Dir, "lib/a.py")) }); got.Ops[Lookup] != 2 {
		t.Errorf("the other node: %v", got)
	}
	if m.Counts() != before {
		t.Error("one node's operation counts for another")
	}
}

func TestWithoutCachesEachQuestionIsAsked(t *testing.T) {
	m := mount(t, tree(t), NewServer(0, 0, 1), Options{})
	for range 2 {
		got := during(m, func() { stat(t, filepath.Join(m.Dir, "empty")) })
		if got.Ops[Lookup] != 1 {
			t.Errorf("stat: %v", got)
		}
		got = during(m, func() {
			if _, err := os.ReadFile(filepath.Join(m.Dir, "lib/a.py")); err != nil {
				t.Error(err)
			}
		})
		if got.Ops[Open] != 1 || got.Bytes != int64(len("import b\n")) {
			t.Errorf("reading: %v", got)
		}
	}
}

func TestReadsAreTold(t *testing.T) {
	var mu sync.Mutex
	told := int64(0)
	m := mount(t, tree(t), NewServer(0, 0, 1), Options{Cache: time.Minute, OnRead: func(path string, _, size int64) {
		mu.Lock()
		defer mu.Unlock()
		if path != "lib/deep/big" {
			t.Errorf("a read of %s", path)
		}
		told += size
	}})
	if _, err := os.ReadFile(filepath.Join(m.Dir, "lib/deep/big")); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if told != 640000 || m.Counts().Bytes != told {
		t.Errorf("%d bytes were told, %d counted", told, m.Counts().Bytes)
	}
}
