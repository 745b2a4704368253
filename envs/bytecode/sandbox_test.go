package bytecode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// box is the sandbox of this host; without one the test is skipped.
func box(t testing.TB) *Sandbox {
	t.Helper()
	s := NewSandbox()
	if err := s.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	return s
}

// inside runs a shell script in the sandbox; dir appears as /python.
func inside(t *testing.T, dir, script string) string {
	t.Helper()
	cmd, done, err := box(t).command(context.Background(), [][2]string{{dir, "/python"}}, "/usr/bin/env", "-i", "PYTHONHASHSEED=0", "/usr/bin/bash", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	out, err := cmd.CombinedOutput()
	return fmt.Sprintf("%s[%v]", out, err)
}

// What runs in the sandbox can do nothing but compute and print.
func TestSandboxHolds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("as it was"), 0o666); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	for name, script := range map[string]string{
		"write to a file":     "echo changed > /python/file && echo BROKEN",
		"append to a file":    "echo changed >> /python/file && echo BROKEN",
		"make a file":         "echo new > /python/new && echo BROKEN",
		"make a file in root": "echo new > /new && echo BROKEN",
		"make a file in /usr": "echo new > /usr/new && echo BROKEN",
		"start a process":     "/usr/bin/true && echo BROKEN",
		"start in background": "while :; do :; done & echo BROKEN",
		"network":             fmt.Sprintf("echo > /dev/tcp/127.0.0.1/%d && echo BROKEN", port),
		"see a home":          "[ -e /root ] || [ -e /home ] || [ -e /tmp ] || [ -e /etc/passwd ] || [ -e /proc ] || [ -e /dev ] && echo BROKEN",
		"see variables":       "[ -n \"$PATH$HOME$USER\" ] && declare -xp | while read -r l; do case $l in *HOME*|*USER*) echo BROKEN;; esac; done",
		"memory":              "ulimit -v; ulimit -v unlimited 2>/dev/null && echo BROKEN",
		"be somebody":         "[ $UID = 65534 ] || echo BROKEN",
	} {
		if got := inside(t, dir, script); strings.Contains(got, "BROKEN") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "as it was" {
		t.Errorf("the file is %q now, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
	// The tests above mean something: the shell itself works.
	if got := inside(t, dir, "read -r x < /python/file; echo \"$x\" $PYTHONHASHSEED"); !strings.Contains(got, "as it was 0") {
		t.Errorf("the shell said %q", got)
	}
}

// Without bubblewrap nothing is run.
func TestNoSandboxIsAnError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := NewSandbox().Available(); !errors.Is(err, ErrNoSandbox) || !strings.Contains(err.Error(), "bwrap") {
		t.Errorf("got %v", err)
	}
}
