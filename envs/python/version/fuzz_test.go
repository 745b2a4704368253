package version_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/version"
)

// What is read prints as a text that reads as the same; the order is one.
func FuzzVersion(f *testing.F) {
	for _, a := range []string{"1.0", "1!2.0rc1.post2.dev3+l.1", " v1.0-1 ", "1.0.dev1", "1.0+a", "20240131120000123456789"} {
		f.Add(a, "1.0.0")
		f.Add("2.0a1", a)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := version.Parse(a)
		if err != nil {
			return
		}
		again, err := version.Parse(v.String())
		if err != nil || again.String() != v.String() || !again.Equal(v) {
			t.Fatalf("%q prints as %q, which reads as %q (%v)", a, v, again, err)
		}
		w, err := version.Parse(b)
		if err != nil {
			return
		}
		if sign(v.Compare(w)) != -sign(w.Compare(v)) {
			t.Fatalf("%q and %q: %d one way, %d the other", v, w, v.Compare(w), w.Compare(v))
		}
		if v.Equal(w) != (v.Compare(w) == 0) {
			t.Fatalf("%q and %q", v, w)
		}
	})
}

// Clauses print as they read; operators that negate one another do so.
func FuzzSet(f *testing.F) {
	for _, s := range []string{">=3.10,<4", "==1.2.*", "~=1.4.2", "!=1.0+a", "===x", " >= 1 , ,", "<1.0.post1"} {
		f.Add(s, "1.4.5")
	}
	f.Fuzz(func(t *testing.T, text, of string) {
		set, err := version.ParseSet(text)
		if err != nil {
			return
		}
		again, err := version.ParseSet(set.String())
		if err != nil || again.String() != set.String() || len(again) != len(set) {
			t.Fatalf("%q prints as %q, which reads as %q (%v)", text, set, again, err)
		}
		v, err := version.Parse(of)
		if err != nil {
			return
		}
		if set.Contains(v) != again.Contains(v) {
			t.Fatalf("%q and %q disagree about %q", set, again, v)
		}
		for _, c := range set {
			opposite := map[version.Operator]version.Operator{version.Equal: version.NotEqual, version.NotEqual: version.Equal}[c.Op]
			if opposite == "" {
				continue
			}
			d := c
			d.Op = opposite
			if c.Contains(v) == d.Contains(v) {
				t.Fatalf("%q and %q agree about %q", c, d, v)
			}
		}
	})
}

// Any three versions have one order.
func FuzzOrder(f *testing.F) {
	f.Add("1.0", "1.0.post1", "1.0.dev1")
	f.Add("1.0a1", "1.0a1.dev1", "1.0+1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var all [3]version.Version
		for i, text := range []string{a, b, c} {
			v, err := version.Parse(text)
			if err != nil {
				return
			}
			all[i] = v
		}
		if all[0].Compare(all[1]) <= 0 && all[1].Compare(all[2]) <= 0 && all[0].Compare(all[2]) > 0 {
			t.Fatalf("%q <= %q <= %q, but the first is above the last", a, b, c)
		}
	})
}
