package gputest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
