package outside

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// where prints the mount namespace of each thread and what descriptor 3 holds.
func where() int {
	tasks, err := filepath.Glob("/proc/self/task/*/ns/mnt")
	for _, task := range tasks {
		ns, linkErr := os.Readlink(task)
		if linkErr == nil { // else the thread has ended
			fmt.Println(ns)
		}
	}
	text, readErr := io.ReadAll(os.NewFile(3, "inherited"))
	fmt.Print(string(text))
	if err != nil || readErr != nil {
		return 1
	}
	return 0
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "where" {
		if err := Leave(os.Args[len(os.Args)-1] == Flag); err != nil {
			fmt.Fprintln(os.Stderr, "note:", err)
		}
		os.Exit(where())
	}
	os.Exit(m.Run())
}

// A process that is started in a step's mounts works in the node's, with what it was given.
func TestLeaveMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no mount namespace can be made")
	}
	path := filepath.Join(t.TempDir(), "inherited")
	if err := os.WriteFile(path, []byte("still there"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// A process 1 of its own: that of the test's host may not be for it to look at.
	const node = `readlink /proc/1/ns/mnt; unshare --mount "$@"; exit`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", node, "sh", self, "where")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{f}, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	if n := len(lines); n < 3 || lines[n-1] != "still there" {
		t.Fatalf("what it printed: %q", out)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if line != lines[0] {
			t.Errorf("a thread is in %s, the node's mounts are %s", line, lines[0])
		}
	}
}
