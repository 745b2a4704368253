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

// Daemon is a munged that can be stopped and started anew.
type Daemon struct {
	// Munge is for its clients.
	Munge munge.Munge

	t    testing.TB
	path string // of the program
	dir  string
	cmd  *exec.Cmd
}

// Start runs a munged until the test ends and returns it. Where MUNGE is not
// installed the test is skipped, loudly.
func Start(t testing.TB) munge.Munge {
	t.Helper()
	return New(t).Munge
}

// New is Start for tests that restart it.
func New(t testing.TB) *Daemon {
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
	d := &Daemon{t: t, path: path, dir: dir}
	d.Munge.Socket = d.at("s")
	if err := os.WriteFile(d.at("key"), key, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	d.start()
	t.Cleanup(d.Stop)
	return d
}

func (d *Daemon) at(name string) string { return filepath.Join(d.dir, name) }

func (d *Daemon) start() {
	d.t.Helper()
	// --force: the directory lies below one that anybody may write.
	d.cmd = exec.Command(d.path, "--foreground", "--force", "--num-threads=2", "--socket="+d.at("s"), "--key-file="+d.at("key"),
		"--pid-file="+d.at("pid"), "--seed-file="+d.at("seed"), "--log-file="+d.at("log"))
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	for range 200 {
		if exists(d.at("s")) {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	log, err := os.ReadFile(d.at("log"))
	d.t.Fatalf("munged made no socket: %s %v", log, err)
}

// Stop kills it: what it knew is lost.
func (d *Daemon) Stop() {
	if d.cmd == nil {
		return
	}
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Error(err)
	}
	_ = d.cmd.Wait() // killed
	d.cmd = nil
	for _, left := range []string{"s", "s.lock", "pid"} {
		if err := os.Remove(d.at(left)); err != nil && !os.IsNotExist(err) {
			d.t.Error(err)
		}
	}
}

// Restart is Stop, and a start with the same key: it remembers no credential.
func (d *Daemon) Restart() {
	d.t.Helper()
	d.Stop()
	d.start()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
