package gputest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Node is WriteNode into a directory of the test's.
func Node(t testing.TB, d Driver) string {
	t.Helper()
	root := t.TempDir()
	if err := WriteNode(root, d); err != nil {
		t.Fatal(err)
	}
	return root
}

// WriteNode writes below root the files of a node whose kernel driver serves the GPUs
// of d: what /proc, /sys and /dev have there. Device nodes are empty files that all
// may open.
func WriteNode(root string, d Driver) error {
	files := map[string]string{
		"proc/driver/nvidia/version":   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + d.Version + "  Sat Aug 19 01:15:15 UTC 2023\n",
		"sys/module/nvidia/srcversion": "0123456789ABCDEF0123456\n",
		"dev/nvidiactl":                "",
	}
	for _, g := range d.GPUs {
		files[fmt.Sprintf("proc/driver/nvidia/gpus/%04x:%02x:00.0/information", g.Domain, g.Bus)] =
			fmt.Sprintf("Model: \t\t %s\nDevice Minor: \t %d\n", g.Name, g.Minor)
		files[fmt.Sprintf("dev/nvidia%d", g.Minor)] = ""
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(name, "dev/") {
			mode = 0o666
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			return err
		}
	}
	return nil
}
