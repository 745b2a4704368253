package staging

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Launches of many images at once start few copiers; the others find no copy in time.
func TestTurns(t *testing.T) {
	c := config(t)
	c.Wait = 100 * time.Millisecond
	pids := filepath.Join(t.TempDir(), "pids")
	script := []string{"/bin/sh", "-c", `echo $$ >>"$0"; exec sleep 60`, pids}
	for i := range byte(atOnce + 3) {
		f, rec := source(t, 20+i)
		if _, err := c.Get(f, rec, script...); !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	started := killAll(t, pids)
	if started != atOnce {
		t.Errorf("%d copiers at once, want %d", started, atOnce)
	}
	c.Wait = 20 * time.Second
	f, rec := source(t, 20)
	holds(t, c, f, rec, self(t, "stage")...)
}

// killAll kills the processes that a file names, and counts them.
func killAll(t *testing.T, file string) (n int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
		n++
	}
	return n
}
