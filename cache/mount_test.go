package cache

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mountTmpfs mounts a file system of this size, or skips the test.
func mountTmpfs(t testing.TB, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		t.Skipf("MOUNT IMPOSSIBLE: %v; run as root to test with other file systems", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// mustSay checks that err is an ErrStore error that names the store and a next step.
func mustSay(t testing.TB, err error, cause error, s *Store, next string) {
	t.Helper()
	if !errors.Is(err, ErrStore) || !errors.Is(err, cause) {
		t.Errorf("got %v, want a store error for %v", err, cause)
		return
	}
	for _, want := range []string{s.root, next} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestFullStore(t *testing.T) {
	dir := mountTmpfs(t, "1m")
	s, err := Create(filepath.Join(dir, "s"), Format{Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	big := makeConda(t, member{name: "a", body: string(noise(3 << 20))}, member{name: "b", body: "small"})
	small := makeConda(t, member{name: "b", body: "small"})
	srv := serve(t, &flaky{data: big})
	_, _, err = s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(big, FormatConda, srv.URL), nil)
	mustSay(t, err, unix.ENOSPC, s, "free space")
	// What was downloaded is kept for later; here it must make room.
	if n, err := s.CleanTemp(0); n == 0 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	_, err = s.Ingest(context.Background(), writeFile(t, big), sourceOf(big, FormatConda, ""), plain(""))
	mustSay(t, err, unix.ENOSPC, s, "free space")
	err = s.ImportArchive(context.Background(), strings.NewReader(string(big)), sourceOf(big, FormatConda, ""))
	mustSay(t, err, unix.ENOSPC, s, "free space")
	emptyDir(t, s, "tmp", "locks")
	// The store is as good as before.
	mustIngest(t, s, small, FormatConda)
	if _, err := s.Manifest(digestOf(big)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyStore(t *testing.T) {
	dir := mountTmpfs(t, "4m")
	s, err := Create(filepath.Join(dir, "s"), Format{Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	data := makeConda(t, member{name: "b", body: "small"})
	m := mustIngest(t, s, data, FormatConda)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	other := sourceOf(noise(10), FormatConda, "http://conda.example/x")
	_, _, err = s.Fetch(context.Background(), quick(FetchOptions{}), other, nil)
	mustSay(t, err, unix.EROFS, s, "read-only")
	_, _, err = s.Ensure(context.Background(), quick(FetchOptions{}), other, plain(""), nil)
	mustSay(t, err, unix.EROFS, s, "read-only")
	_, err = s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), plain(""))
	mustSay(t, err, unix.EROFS, s, "read-only")
	// Reading works, and linking falls back to copies.
	if _, _, err := s.Ensure(context.Background(), quick(FetchOptions{}), sourceOf(data, FormatConda, ""), plain(""), nil); err != nil {
		t.Error(err)
	}
	out := t.TempDir()
	place(t, newLinker(t, s, out), m.Entries[0], out+"/b", "small", Copy)
}

// TestSomebodyElsesStore acts as another account for file access.
func TestSomebodyElsesStore(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT ROOT: run as root to test as another account")
	}
	// The way to the store is open to all.
	parent, err := os.MkdirTemp("", "other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	// One that its owner made for others to look into, too: it stays so.
	if err := errors.Join(os.Mkdir(filepath.Join(parent, "store"), 0o755), os.Chmod(filepath.Join(parent, "store"), 0o755)); err != nil {
		t.Fatal(err)
	}
	s, err := Create(filepath.Join(parent, "store"), Format{Platforms: []string{"linux-64"}})
	if err != nil {
		t.Fatal(err)
	}
	// Only this thread changes, and it ends with the test.
	runtime.LockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	}()
	mustSay(t, s.SaveFile(s.MetaPath("i", "linux-64"), 0o444, func(io.Writer) error { return nil }), unix.EACCES, s, "owner")
	_, err = s.Lock(context.Background(), "k", nil)
	mustSay(t, err, unix.EACCES, s, "owner")
	_, _, err = s.Fetch(context.Background(), quick(FetchOptions{}), sourceOf(noise(10), FormatConda, "http://conda.example/x"), nil)
	mustSay(t, err, unix.EACCES, s, "owner")
	if _, err := Open(s.root); err != nil {
		t.Error(err)
	}
}
