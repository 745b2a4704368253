package facts_test

import (
	"regexp"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

var majorMinor = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)

// FuzzGlibc: of whatever claims to be a C library, a version or a problem.
func FuzzGlibc(f *testing.F) {
	for _, release := range []string{"", "2.28"} {
		lib, err := factstest.LibC("x86_64", release, "GLIBC_2.2.5", "GLIBC_2.28")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(lib)
	}
	root := f.TempDir()
	writeTree(f, root, "proc/sys/kernel/arch", "x86_64\n")
	f.Fuzz(func(t *testing.T, lib []byte) {
		writeTree(t, root, "lib64/libc.so.6", string(lib))
		got := facts.Read(t.Context(), root)
		if majorMinor.MatchString(got.Glibc) == hasProblem(got, "glibc: ") {
			t.Errorf("glibc %q, problems %q", got.Glibc, got.Problems)
		}
	})
}
