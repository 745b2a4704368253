package version_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/conda/version"
)

// FuzzVersion: the order is one (reflexive, antisymmetric), and a version starts
// with itself and satisfies ==itself.
func FuzzVersion(f *testing.F) {
	f.Add("1.0.1_", "1.0.1a", ">=1,<2|3.*")
	f.Add("1!2.0+l.1", "2024a", "~=1.2")
	f.Fuzz(func(t *testing.T, a, b, spec string) {
		v, err := version.Parse(a)
		if err != nil {
			return
		}
		if v.Compare(v) != 0 || !v.StartsWith(v) || !v.CompatibleWith(v) {
			t.Fatalf("%q is not like itself", a)
		}
		if own, err := version.ParseSpec("==" + a); err != nil || !own.Matches(v) {
			t.Fatalf("%q does not satisfy ==%s: %v", a, a, err)
		}
		if s, err := version.ParseSpec(spec); err == nil {
			s.Matches(v)
		}
		w, err := version.Parse(b)
		if err != nil {
			return
		}
		if v.Compare(w) != -w.Compare(v) {
			t.Fatalf("%q and %q are ordered twice", a, b)
		}
	})
}
