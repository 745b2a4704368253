package hostlist

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	for expr, want := range map[string]string{
		"":                       "",
		"n1":                     "n1",
		"gpu[001-003,100],gh[1]": "gpu001 gpu002 gpu003 gpu100 gh1",
		"a[0-1]b[01-02]":         "a0b01 a0b02 a1b01 a1b02",
		"n[8-11],n[08-10]":       "n8 n9 n10 n11 n08 n09 n10",
		"n[99-101]":              "n99 n100 n101",
		"n[3,1,2] ,\tn1,":        "n3 n1 n2 n1",
		"[1-2]":                  "1 2",
		"login-x.example":        "login-x.example",
	} {
		got, err := Expand(expr)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v; want %q", expr, got, err, want)
		}
	}
	for _, expr := range []string{"n[1-2", "n]1", "n[]", "n[3-1]", "n[a-b]", "n[1,]", "n[1-2]x", "n[1-3].x[1-2].y", "n[-1]", "n[1-]",
		"n[0x1]", "n[1--2]", "n[[1]]", "n[1 -3]", "n[0-4294967295]", "n[0-999][0-999][0-999]", "n[99999999999]"} {
		if got, err := Expand(expr); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %.5q…, %v", expr, got, err)
		}
	}
}

func TestCompress(t *testing.T) {
	for names, want := range map[string]string{
		"":                         "",
		"n1":                       "n1",
		"n5 n2 n1 n3 n1":           "n[1-3,5]",
		"n9 n10 n11":               "n[9-11]",
		"n08 n09 n10 n8":           "n[8,08-10]",
		"n99 n100 n099":            "n[99,099-100]",
		"a1b1 a1b2 a2b1":           "a1b[1-2],a2b1",
		"x y x2y":                  "x,x2y,y",
		"gpu001 gpu002 gh01 gh2 n": "gh[2,01],gpu[001-002],n",
	} {
		got := Compress(strings.Fields(names))
		back, err := Expand(got)
		if err != nil {
			t.Error(err)
		}
		slices.Sort(back)
		all := strings.Fields(names)
		slices.Sort(all)
		if d := cmp.Diff(strings.Join(slices.Compact(all), " "), strings.Join(back, " ")); d != "" {
			t.Errorf("%s: %s: %s", names, got, d)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// names are random but look like a cluster's.
func names(r *rand.Rand) []string {
	prefixes := []string{"n", "gpu", "r1n", "r1-n", "a0b", "x.y-", ""}
	var out []string
	for range 1 + r.Intn(30) {
		out = append(out, fmt.Sprintf("%s%0*d", prefixes[r.Intn(len(prefixes))], 1+r.Intn(3), r.Intn(130)))
	}
	for range r.Intn(3) {
		out = append(out, []string{"login", "gpu-a", "n1x"}[r.Intn(3)])
	}
	return out
}

// TestRoundTrip: what is compressed expands to the same names, however they are
// ordered, and to no expression that is longer than the names themselves
// but for the brackets.
func TestRoundTrip(t *testing.T) {
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	for range 2000 {
		in := names(r)
		expr := Compress(in)
		r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		if again := Compress(in); again != expr {
			t.Fatalf("the order matters: %s and %s of %q", expr, again, in)
		}
		out, err := Expand(expr)
		if err != nil {
			t.Fatal(err)
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(in)))
		if len(out) != len(sorted) {
			t.Fatalf("%s has %d names, not %d: %q", expr, len(out), len(sorted), sorted)
		}
		slices.Sort(out)
		if d := cmp.Diff(sorted, out); d != "" {
			t.Fatalf("%s: %s", expr, d)
		}
		if len(expr) > len(strings.Join(sorted, ","))+2*strings.Count(expr, "[") {
			t.Fatalf("%s is longer than %q", expr, sorted)
		}
	}
}

func slurmNames(t *testing.T) func(args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("scontrol"); err != nil {
		t.Skip("scontrol is not installed: Slurm's own reading is not compared")
	}
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	if err := os.WriteFile(conf, []byte("ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (string, error) {
		cmd := exec.Command("scontrol", append([]string{"show"}, args...)...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "Invalid hostlist") {
			err = errors.New("invalid hostlist") // it exits 0
		}
		return string(out), err
	}
}

// TestSlurmAgrees: scontrol show hostnames and hostlistsorted.
func TestSlurmAgrees(t *testing.T) {
	slurm := slurmNames(t)
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	for range 60 {
		in := names(r)
		// Slurm reads what we print …
		expr := Compress(in)
		theirs, err := slurm("hostnames", expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		ours, err := Expand(expr)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Fields(theirs), ours); d != "" {
			t.Fatalf("%s: %s", expr, d)
		}
		// … and we read what it prints.
		printed, err := slurm("hostlist", strings.Join(in, ","))
		if err != nil {
			t.Fatal(err)
		}
		back, err := Expand(strings.TrimSpace(printed))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(in, back); d != "" {
			t.Fatalf("%s: %s", printed, d)
		}
	}
	for _, expr := range []string{"a[0-1]b[01-02]", "n[1-2][3-4]", "[1-3]", "n[001-101,7]", "r[0-1]_n[0-1]", "n[1-2]x", "n[3-1]", "n[]", "n[1,]", "n[0x1]"} {
		theirs, theirErr := slurm("hostnames", expr)
		ours, err := Expand(expr)
		if (err != nil) != (theirErr != nil) {
			t.Errorf("%s: %v, Slurm %v", expr, err, theirErr)
		} else if err == nil && strings.Join(ours, " ") != strings.Join(strings.Fields(theirs), " ") {
			t.Errorf("%s: %q, Slurm %q", expr, ours, theirs)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"n[1-3]", "a[0-1]b[01-02],c", "n[", "n[1-99999]", " , "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		out, err := Expand(expr)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		again, err := Expand(Compress(out))
		if err != nil {
			t.Fatalf("%q: what is printed is not read: %v", expr, err)
		}
		slices.Sort(out)
		slices.Sort(again)
		if !slices.Equal(slices.Compact(out), slices.Compact(again)) {
			t.Fatalf("%q: %.20q and %.20q", expr, out, again)
		}
	})
}
