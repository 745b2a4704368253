package facts

import (
	"debug/elf"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// FuzzGlibc: of whatever claims to be a C library, a version or an error.
func FuzzGlibc(f *testing.F) {
	for _, release := range []string{"", "2.28"} {
		lib, err := factstest.LibC("x86_64", release, "GLIBC_2.2.5", "GLIBC_2.28")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(lib)
	}
	f.Fuzz(func(t *testing.T, lib []byte) {
		v, err := glibcVersion(lib, elf.EM_X86_64)
		if _, ok := majorMinor(v); ok != (err == nil) {
			t.Errorf("version %q, error %v", v, err)
		}
	})
}
