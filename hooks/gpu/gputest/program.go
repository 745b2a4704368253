package gputest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Lazy are the linker's arguments that the child needs: it is bound to the driver's
// functions one by one, when they are called.
const Lazy = "-extldflags=-Wl,-z,lazy"

// built is the child program of this run, made once for all tests of a package.
var built struct {
	sync.Once
	path string
	err  error
}

// Program returns the child program, made from this module's source. Where there
// is no C compiler the test is skipped.
func Program(t testing.TB) string {
	t.Helper()
	Compiler(t)
	built.Do(func() {
		var dir string
		if dir, built.err = os.MkdirTemp("", "hpcenv-gpu-test"); built.err != nil {
			return
		}
		built.path = filepath.Join(dir, "hpcenv-gpu")
		built.err = Build(built.path)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// Clean removes what Program made; TestMain calls it last.
func Clean() error {
	if built.path == "" {
		return nil
	}
	return os.RemoveAll(filepath.Dir(built.path))
}

// Build makes the child program at path, with more of an environment for another
// architecture.
func Build(path string, env ...string) error {
	cmd := exec.Command("go", "build", "-ldflags", Lazy, "-o", path, "github.com/hpcenv/hpcenv/cmd/hpcenv-gpu")
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.Chmod(path, 0o755)
}

// Node writes the files of a node whose kernel driver serves the GPUs of d: what
// /proc, /sys and /dev have there.
func Node(t testing.TB, d Driver) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "+d.Version+"  Sat Aug 19 01:15:15 UTC 2023\n")
	write("sys/module/nvidia/srcversion", "0123456789ABCDEF0123456\n")
	nodes := []string{"nvidiactl"}
	for _, g := range d.GPUs {
		write(fmt.Sprintf("proc/driver/nvidia/gpus/%04x:%02x:00.0/information", g.Domain, g.Bus),
			fmt.Sprintf("Model: \t\t %s\nDevice Minor: \t %d\n", strings.TrimSpace(g.Name), g.Minor))
		nodes = append(nodes, fmt.Sprintf("nvidia%d", g.Minor))
	}
	for _, n := range nodes {
		write("dev/"+n, "")
		if err := os.Chmod(filepath.Join(root, "dev", n), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
