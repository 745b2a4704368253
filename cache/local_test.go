package cache

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// local makes newStore build elsewhere.
func localStore(t *testing.T) *Store {
	t.Helper()
	s := newStore(t)
	if err := s.UseLocal(filepath.Join(t.TempDir(), "state", "build")); err != nil {
		t.Fatal(err)
	}
	return s
}

// With the pool elsewhere, packages are taken in there; archives and all that is
// published stay in the store, and what is unfinished is collected in both.
func TestUseLocal(t *testing.T) {
	s := localStore(t)
	srcs, _ := packages(t, 3, 0)
	if _, err := s.EnsureAll(context.Background(), quick(FetchOptions{}), srcs, plain("/placeholder"), EnsureOptions{}); err != nil {
		t.Fatal(err)
	}
	count := func(dir string) (n int) {
		t.Helper()
		err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(filepath.Join(s.Root(), "pool")); n != 0 {
		t.Errorf("%d files in the store's pool", n)
	}
	if n := count(filepath.Join(s.Root(), "archives")); n != 3 {
		t.Errorf("%d archives in the store, want 3", n)
	}
	if n := count(filepath.Join(s.Builds(), "pool", "packages")); n != 3 {
		t.Errorf("%d manifests, want 3", n)
	}
	if st, err := os.Stat(s.Builds()); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	write := func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }
	for _, path := range []string{s.MetaPath("id", "linux-64"), s.PycPath("c", "p")} {
		if err := s.SaveFile(path, 0o444, write); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	// One rename cannot reach across.
	if err := s.PublishFiles(context.Background(), []NewFile{{Path: s.PycPath("c", "q")}, {Path: s.MetaPath("id", "x")}}); !errors.Is(err, ErrStore) {
		t.Errorf("two file systems at once: %v", err)
	}
	if err := s.SaveFile(filepath.Join(t.TempDir(), "x"), 0o444, write); !errors.Is(err, ErrStore) {
		t.Errorf("outside: %v", err)
	}
	for _, make := range []func(string) (string, error){s.TempDir, s.StoreTempDir} {
		if _, err := make("left"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.CleanTemp(-time.Minute); err != nil || n != 2 {
		t.Errorf("%d removed, %v", n, err)
	}
	// A group's part has its own place.
	if os.Geteuid() == 0 && s.Format().PrefixRoot != "" {
		part, err := s.Private(12345)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(s.Builds(), "private", "12345"); part.Builds() != want {
			t.Errorf("a part builds in %s, want %s", part.Builds(), want)
		}
	}
}

// The place is neither in the store nor around it.
func TestUseLocalRefused(t *testing.T) {
	s := newStore(t)
	for _, dir := range []string{"relative", s.Root(), filepath.Join(s.Root(), "tmp", "x"), filepath.Dir(s.Root()), "/"} {
		if err := s.UseLocal(dir); !errors.Is(err, ErrStore) || s.BuildsApart() {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A directory that is there and is not for builds is left as it is.
func TestUseLocalTakesNoDirectoryOfOthers(t *testing.T) {
	s := newStore(t)
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.UseLocal(dir); !errors.Is(err, ErrStore) || s.BuildsApart() {
		t.Errorf("it was taken: %v", err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("it was changed: %v %v", st.Mode(), err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("something was made in it: %v %v", names, err)
	}
}

// A file is published whole or not at all, and what is there stays.
func TestPublishFile(t *testing.T) {
	s := localStore(t)
	final := s.ImagePath("linux-64", "id")
	for i, content := range []string{"first", "second"} {
		dir, err := s.StoreTempDir("image")
		if err != nil {
			t.Fatal(err)
		}
		staged := filepath.Join(dir, "file")
		if err := os.WriteFile(staged, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.PublishFile(staged, final, 0o444); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(final); err != nil || string(got) != "first" {
			t.Errorf("after %d: %q, %v", i, got, err)
		}
		if st, err := os.Stat(final); err != nil || st.Mode() != 0o444 {
			t.Errorf("mode %v, %v", st, err)
		}
		if _, err := os.Lstat(staged); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("staged is left: %v", err)
		}
	}
	if err := s.PublishFile("x", filepath.Join(t.TempDir(), "y"), 0o444); !errors.Is(err, ErrStore) {
		t.Errorf("outside: %v", err)
	}
}
