// Package mungetest starts a real munged with a key of its own, for tests.
package mungetest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/munge"
)

// Start runs a munged until the test ends and returns it. Where MUNGE is not
// installed the test is skipped, loudly.
func Start(t testing.TB) munge.Munge {
	t.Helper()
	path, err := exec.LookPath("munged")
	if err != nil {
		if path = "/usr/sbin/munged"; exists(path) {
			err = nil
		}
	}
	if err != nil {
		t.Skip("SKIPPED: munged is not installed here (make setup); nothing of MUNGE is tested")
	}
	dir, err := os.MkdirTemp("", "munge") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("key"), key, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	// --force: the directory lies below one that anybody may write.
	cmd := exec.Command(path, "--foreground", "--force", "--num-threads=2", "--socket="+at("s"), "--key-file="+at("key"),
		"--pid-file="+at("pid"), "--seed-file="+at("seed"), "--log-file="+at("log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
	})
	for range 200 {
		if exists(at("s")) {
			return munge.Munge{Socket: at("s")}
		}
		time.Sleep(25 * time.Millisecond)
	}
	log, err := os.ReadFile(at("log"))
	t.Fatalf("munged made no socket: %s %v", log, err)
	return munge.Munge{}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
