package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// maxInit bounds what packages allocate before main, in bytes. Memory, not
// time, is measured: it is the same on every machine, and a table that takes
// milliseconds to fill takes megabytes.
const maxInit = 2 << 20

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, \S+ ms clock, (\d+) bytes`)

// TestCommandLineStartsLight runs the program that every step of every job
// starts, and adds up what its packages do before main.
func TestCommandLineStartsLight(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "hpcenv")
	build := exec.Command("go", "build", "-o", bin, "./cmd/hpcenv")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.Command(bin, "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := initLine.FindAllStringSubmatch(string(out), -1)
	if len(lines) < 10 {
		t.Fatalf("no trace of initialisation: %s", out)
	}
	sum := 0
	for _, m := range lines {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		if n > maxInit/4 {
			t.Errorf("package %s allocates %d bytes before main", m[1], n)
		}
	}
	if sum > maxInit {
		t.Errorf("%d bytes before main, at most %d are allowed", sum, maxInit)
	}
	t.Logf("%d bytes before main", sum)
}
