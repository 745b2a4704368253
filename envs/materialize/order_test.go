package materialize

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// pkgsOf makes packages from "name: dep dep"; a name with a ~ before is noarch.
func pkgsOf(lines ...string) []Package {
	var out []Package
	for _, l := range lines {
		name, deps, _ := strings.Cut(l, ":")
		c := &lockfile.CondaPackage{Version: "1", Build: "0"}
		if c.Name = strings.TrimPrefix(name, "~"); c.Name != name {
			c.Noarch = "generic"
		}
		c.Depends = strings.Fields(deps)
		out = append(out, Package{Lock: c})
	}
	return out
}

func names(pkgs []Package) string {
	var out []string
	for _, p := range pkgs {
		out = append(out, p.Lock.Name)
	}
	return strings.Join(out, " ")
}

func TestTopological(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"a:", "b:", "c:"}, "c b a"},
		{[]string{"clobber-3:", "clobber-1: clobber-3", "clobber-2: clobber-1"}, "clobber-3 clobber-1 clobber-2"},
		{[]string{"python: pip", "~pip: python setuptools", "~setuptools: python", "app: python"}, "python setuptools pip app"},
		{[]string{"a: b __glibc>=2.28", "b: a", "c: b"}, "a b c"},
		{[]string{"a: b", "b: a"}, "b a"},
		{[]string{"p3: p5", "p5: p3", "p2:", "z:"}, "z p5 p3 p2"},
		{[]string{"a: z=1 m", "z:", "m:"}, "z m a"},
	} {
		pkgs := pkgsOf(c.in...)
		for range 20 {
			rand.Shuffle(len(pkgs), func(i, j int) { pkgs[i], pkgs[j] = pkgs[j], pkgs[i] })
			if got := names(topological(pkgs)); got != c.want {
				t.Errorf("%q: %s, want %s", c.in, got, c.want)
			}
		}
	}
}

// TestTopologicalProperties: every package once; without circles every
// dependency is before what needs it; the order given does not matter.
func TestTopologicalProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		n := 1 + r.IntN(30)
		circles := round%2 == 1
		var lines []string
		for i := range n {
			l := fmt.Sprintf("p%02d:", i)
			if r.IntN(3) == 0 {
				l = "~" + l
			}
			for range r.IntN(4) {
				d := r.IntN(n)
				if circles || d < i {
					l += fmt.Sprintf(" p%02d", d)
				}
			}
			lines = append(lines, l)
		}
		pkgs := pkgsOf(lines...)
		sorted := topological(pkgs)
		at := make(map[string]int)
		for i, p := range sorted {
			at[p.Lock.Name] = i
		}
		if len(at) != n || len(sorted) != n {
			t.Fatalf("%d packages became %d: %q", n, len(sorted), lines)
		}
		for _, p := range sorted {
			for _, d := range p.Lock.Depends {
				if !circles && at[d] > at[p.Lock.Name] {
					t.Fatalf("%s before its dependency %s: %s", p.Lock.Name, d, names(sorted))
				}
			}
		}
		want := names(sorted)
		r.Shuffle(n, func(i, j int) { pkgs[i], pkgs[j] = pkgs[j], pkgs[i] })
		if got := names(topological(pkgs)); got != want {
			t.Fatalf("order given matters: %s, %s", want, got)
		}
	}
}
