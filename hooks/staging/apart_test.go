package staging

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

// A copier that is started in a step's mounts works in the node's, with what it was given.
func TestLeaveMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: no mount namespace can be made")
	}
	node, err := os.Readlink("/proc/1/ns/mnt")
	if err != nil {
		t.Skip("NO LOOK AT PROCESS 1: ", err)
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
	// The test's own mounts need not be those of process 1: once in a namespace of its own.
	cmd := exec.Command("unshare", append([]string{"--mount"}, self(t, "where")...)...)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{f}, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, line := range strings.Split(string(out), "\n") {
		if line == "still there" {
			if i == 0 {
				t.Error("no thread was seen")
			}
			return
		}
		if line != node {
			t.Errorf("a thread is in %s, the node's mounts are %s", line, node)
		}
	}
	t.Errorf("what it was given: %q", out)
}
