package lockfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// TestBadFiles: each file of testdata/bad is refused with a message that says
// where and what, or read, as verdicts.txt has it. (What rattler does with them,
// internal/oracle compares.)
func TestBadFiles(t *testing.T) {
	dir := filepath.Join("testdata", "bad")
	verdicts, err := os.ReadFile(filepath.Join(dir, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(verdicts)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(fields) != 3 {
			continue
		}
		listed++
		data, err := os.ReadFile(filepath.Join(dir, fields[0]+".lock"))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := lockfile.Parse(data)
		if fields[2] == "ok" {
			if err != nil {
				t.Errorf("%s: %v", fields[0], err)
			}
			continue
		}
		if lock != nil && err != nil {
			t.Errorf("%s: a lock besides an error", fields[0])
		}
		t.Run(fields[0], func(t *testing.T) { wantError(t, err, strings.Split(fields[2], "|")...) })
	}
	if listed != len(files) {
		t.Errorf("%d files, %d verdicts", len(files), listed)
	}
}

// TestCutShort: a lock that was cut anywhere is refused, unless what is left is a
// whole lock without its last entries' last keys; it never brings the reader down.
func TestCutShort(t *testing.T) {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	for _, name := range []string{
		"prefix-dev__pixi/examples/solve-groups/pixi.lock", "conda__rattler/test-data/conda-lock/v7/numpy-as-pypi-lock.yml",
		"conda__rattler/test-data/conda-lock/v5/stability-original.yml", "conda__conda-lock/example/zlib/conda-lock.yml",
	} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(4, 2))
		refused := 0
		for range 100 {
			n := random.IntN(len(data))
			lock, err := lockfile.Parse(data[:n])
			switch {
			case err != nil && !errors.Is(err, lockfile.ErrLock):
				t.Errorf("%s, %d bytes: %v", name, n, err)
			case err != nil:
				refused++
			case lock == nil:
				t.Errorf("%s, %d bytes: neither lock nor error", name, n)
			}
		}
		// A conda-lock.yml has no list of what must be there: only a cut inside a line shows.
		if refused < 20 {
			t.Errorf("%s: only %d of 100 cut locks were refused", name, refused)
		}
	}
}

// TestMonsters: what is made to be large is refused in bounded memory, soon.
func TestMonsters(t *testing.T) {
	lock := "version: 6\nenvironments: {}\npackages: []\nx: "
	for name, text := range map[string]string{
		"200 MB of nesting":         lock + strings.Repeat("[", 200<<20),
		"60 MB of nesting":          lock + strings.Repeat("[", 60<<20),
		"nesting in blocks":         "version: 6\n" + strings.Repeat("- ", 1<<20),
		"nesting that ends":         lock + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
		"many values":               lock + "[" + strings.Repeat("a,", 10<<20) + "a]",
		"many lines":                "version: 6\nx:\n" + strings.Repeat("- a\n", 10<<20),
		"many keys":                 strings.Repeat("a1234567:\n", 1<<20) + "x: [",
		"many tables":               strings.Repeat("[a]\n", 4<<20),
		"many documents":            strings.Repeat("---\na: 1\n", 1<<18),
		"aliases of aliases":        "version: 6\na: &a [x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
		"a long line without end":   "version: 6\nx: '" + strings.Repeat("a", 8<<20),
		"a key of a megabyte twice": "version: 6\n" + strings.Repeat("k", 1<<20) + ": 1\n" + strings.Repeat("k", 1<<20) + ": 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := lockfile.Parse([]byte(text))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, lockfile.ErrLock) {
				t.Fatalf("%v", err)
			}
			if len(err.Error()) > 2<<20 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 1500<<20 {
				t.Errorf("%d MB were allocated", got>>20)
			}
		})
	}
}

// TestLargeLock: a lock of the stated limit (20 MB) is read, and one in another
// style than pixi's, which takes longer, of some.
func TestLargeLock(t *testing.T) {
	for style, size := range map[string]int{"\n": 14 << 20, " # not as pixi writes\n": 3 << 20} {
		largeLock(t, style, size)
	}
}

func largeLock(t *testing.T, style string, size int) {
	t.Helper()
	var refs, packages bytes.Buffer
	n := 0
	for packages.Len() < size {
		n++
		url := fmt.Sprintf("https://conda.example/main/linux-64/package%d-1.2.%d-h0123456_0.conda", n, n)
		fmt.Fprintf(&refs, "      - conda: %s\n", url)
		fmt.Fprintf(&packages, "- conda: %s\n  sha256: %064x\n  depends:\n  - libgcc >=14\n  - python >=3.12,<3.13.0a0\n  license: BSD-3-Clause\n", url, n)
	}
	text := "version: 6" + style + "environments:\n  default:\n    channels:\n    - url: https://conda.example/main/\n    packages:\n      linux-64:\n" + refs.String() + "packages:\n" + packages.String()
	lock, err := lockfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(lock.Environments[0].Platforms[0].Conda); got != n {
		t.Errorf("%d packages of %d", got, n)
	}
}
