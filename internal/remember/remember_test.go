package remember

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestKeptIsRecalled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "x")
	if _, err := Recall(path, 10); err == nil {
		t.Fatal("recalled what was not kept")
	}
	for _, text := range []string{"one", "two", ""} {
		if err := Keep(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := Recall(path, 3); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	// What is old goes, whatever is beside it.
	old := filepath.Join(filepath.Dir(path), "old")
	if err := Keep(old, nil); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-forgetAfter - time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if err := Keep(path, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What others may have put there is not believed, and holds nobody up.
func TestOthersFilesAreNotRecalled(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	if err := Keep(own, []byte("text")); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(string) error{
		"pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"link":      func(p string) error { return os.Symlink(own, p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"long":      func(p string) error { return Keep(p, []byte(strings.Repeat("x", 11))) },
		"writable":  func(p string) error { return os.WriteFile(p, []byte("text"), 0o600) },
		"other's":   func(p string) error { return os.WriteFile(p, []byte("text"), 0o644) },
	} {
		path := filepath.Join(dir, name)
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "writable":
			if err := os.Chmod(path, 0o620); err != nil {
				t.Fatal(err)
			}
		case "other's":
			if os.Getuid() != 0 {
				continue
			}
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Recall(path, 10); err == nil {
			t.Errorf("%s: %q is believed", name, got)
		}
	}
}
