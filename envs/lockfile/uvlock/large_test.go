package uvlock_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
)

const largePackages = 3000

// large is a lock of more than 20 MB: every package has 26 wheels.
func large() []byte {
	var text strings.Builder
	text.WriteString("version = 1\nrequires-python = \">=3.10\"\n\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [\n")
	for i := range largePackages {
		fmt.Fprintf(&text, "    { name = \"p%d\", marker = \"python_full_version >= '3.%d' and sys_platform == 'linux'\" },\n", i, i%12)
	}
	text.WriteString("]\n")
	for i := range largePackages {
		fmt.Fprintf(&text, "\n[[package]]\nname = \"p%d\"\nversion = \"1.%d\"\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [\n", i, i)
		for j := range 26 {
			fmt.Fprintf(&text, "    { url = \"https://files.pypi.example/packages/57/ba/046ceea27344560984e26a590f90bc7f4a75b06701f653222458922b558c/p%d-1.%d-cp3%d-cp3%d-manylinux_2_17_x86_64.manylinux2014_x86_64.whl\", hash = \"sha256:%s\", size = 7288, upload-time = \"2025-11-10T22:07:42.062Z\" },\n",
				i, i, 1+j%13, 1+j%13, digest)
		}
		text.WriteString("]\n")
	}
	return []byte(text.String())
}

func readLarge(t testing.TB, data []byte) {
	lock, err := uvlock.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := lock.Select(target(t), python.Selection{}, uvlock.Options{})
	if err != nil || len(got) != largePackages {
		t.Fatalf("%d packages, %v", len(got), err)
	}
}

// A lock of 20 MB takes less than 1 GB, all that was ever allocated counted.
func TestLargeLockInMemory(t *testing.T) {
	data := large()
	if len(data) < 20<<20 {
		t.Fatalf("it has only %d bytes", len(data))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readLarge(t, data)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("%d MB for a lock of %d MB", used>>20, len(data)>>20)
	}
}

func BenchmarkLarge(b *testing.B) {
	data := large()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		readLarge(b, data)
	}
}
