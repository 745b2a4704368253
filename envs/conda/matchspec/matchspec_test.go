package matchspec_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/internal/peer"
)

type pkg struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Build   string `json:"build"`
	Number  int64  `json:"number"`
	Subdir  string `json:"subdir"`
	MD5     string `json:"md5"`
	SHA256  string `json:"sha256"`
}

func (p pkg) ours(t *testing.T) *matchspec.Package {
	t.Helper()
	v, err := version.Parse(p.Version)
	if err != nil {
		t.Fatal(err)
	}
	return &matchspec.Package{Name: p.Name, Version: v, Build: p.Build, BuildNumber: p.Number, MD5: p.MD5, SHA256: p.SHA256}
}

const askRattler = `
import json, sys
from rattler import MatchSpec, PackageRecord, BuildString
q = json.load(sys.stdin)
def read(t):
    try: return MatchSpec(t)
    except Exception: return None
ms = [read(t) for t in q["specs"]]
ps = [PackageRecord(p["name"], p["version"], BuildString(p["build"]), p["number"], p["subdir"], md5=bytes.fromhex(p["md5"]) or None, sha256=bytes.fromhex(p["sha256"]) or None) for p in q["packages"]]
holds = [None if ms[a] is None else ms[a].matches(ps[b]) for a, b in q["asks"]]
json.dump({"valid": [m is not None for m in ms], "holds": holds}, sys.stdout)
`

type question struct {
	Specs    []string `json:"specs"`
	Packages []pkg    `json:"packages"`
	Asks     [][2]int `json:"asks"`
}

// compare asks rattler and us, and reports what differs. tolerated: rattler
// refuses the text for a reason that is not the text's.
func compare(t *testing.T, q question, tolerated func(spec string) bool) (valid, held int) {
	t.Helper()
	var answer struct {
		Valid []bool
		Holds []*bool
	}
	peer.Ask(t, askRattler, q, &answer)
	shown := 0
	report := func(format string, args ...any) {
		if shown++; shown <= 30 {
			t.Errorf(format, args...)
		} else {
			t.Fail()
		}
	}
	specs := make([]*matchspec.MatchSpec, len(q.Specs))
	for i, text := range q.Specs {
		m, err := matchspec.Parse(text)
		if err != nil && !errors.Is(err, matchspec.ErrMatchSpec) {
			t.Errorf("%q: the error has no class: %v", text, err)
		}
		if (err == nil) != answer.Valid[i] {
			if !tolerated(text) {
				report("%q: error %v; rattler takes it: %v", text, err, answer.Valid[i])
			}
			continue
		}
		if err == nil {
			valid++
			specs[i] = m
		}
	}
	packages := make([]*matchspec.Package, len(q.Packages))
	for i, p := range q.Packages {
		packages[i] = p.ours(t)
	}
	for i, a := range q.Asks {
		if specs[a[0]] == nil || answer.Holds[i] == nil {
			continue
		}
		if got := specs[a[0]].Matches(packages[a[1]]); got != *answer.Holds[i] {
			report("%q fits %v: %v, rattler has %v", specs[a[0]], q.Packages[a[1]], got, *answer.Holds[i])
		}
		if *answer.Holds[i] {
			held++
		}
	}
	return valid, held
}

func makeSpec(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	v := func() string {
		return some("1.2", "1.2.3", "1", "2", "1.10", "1.2rc1", "1.2.*", "1.2*", "1.3", "2.0a0", "*")
	}
	b := func() string { return some("py310_0", "py*", "*_0", "*", "h1_1", "*h*", "^py.*$") }
	s := some("", "", "", "conda-forge::", "conda-forge/linux-64::", "https://x.example/ch::", "a:b:") + some("foo", "foo", "FOO", "bar", "foo-x")
	switch r.IntN(6) {
	case 0:
		s += some("=", "==", " ") + v() + some("=", " ") + b()
	case 1:
		s += some("=", "==") + v() + some("", "="+b())
	case 2:
		s += some(" ", "  ", "") + some(">=", "<", "!=", "~=", ">= ", "< ", "=", "==") + v() + some("", " "+b())
	case 3:
		s += " " + some(">=", ">", "") + v() + some(",", "|", " , ", "|", ", ") + some("<", "<=", "!=", "=", "") + v() + some("", " "+b(), "  "+b(), "="+b())
	case 4:
		s += some(" ", "") + "(" + some(">=", "") + v() + some("|", ",") + v() + ")" + some("", ",<3", "|3") + some("", " "+b())
	}
	if r.IntN(4) == 0 {
		var keys []string
		for range 1 + r.IntN(2) {
			keys = append(keys, some("version='>=1'", `version="1.2|1.3"`, "build=py*", "build='*_0'", "build='^(h|py).*_[01]$'", "build_number=0", "build_number='>=1'",
				"subdir=linux-64", "subdir=noarch", "md5="+strings.Repeat("a", 32), "sha256="+strings.Repeat("b", 64), "license=MIT", "extras=[x, y]", "fn=foo.conda", "bogus=1", "build_number='=1'"))
		}
		s += some("", " ") + "[" + strings.Join(keys, some(",", ", ")) + "]"
	}
	return some("", "", " ") + s + some("", "", " ", " # why")
}

// rattler reads generated specifications the same, and the same packages fit.
func TestSameAsRattler(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var q question
	for range 6000 {
		q.Specs = append(q.Specs, makeSpec(r))
	}
	for _, name := range []string{"foo", "bar"} {
		for _, v := range []string{"1", "1.2", "1.2.3", "1.2rc1", "1.3", "1.10", "2", "3.1"} {
			for _, b := range []string{"py310_0", "h1_1", "0"} {
				p := pkg{Name: name, Version: v, Build: b, Number: int64(r.IntN(2)), Subdir: []string{"linux-64", "noarch"}[r.IntN(2)]}
				if r.IntN(2) == 0 {
					p.MD5, p.SHA256 = strings.Repeat("a", 32), strings.Repeat("b", 64)
				}
				q.Packages = append(q.Packages, p)
			}
		}
	}
	for i := range q.Specs {
		for range 12 {
			q.Asks = append(q.Asks, [2]int{i, r.IntN(len(q.Packages))})
		}
	}
	valid, held := compare(t, q, func(string) bool { return false })
	t.Logf("%d of %d specifications are valid, %d packages fit", valid, len(q.Specs), held)
	if valid < 3000 || held < 3000 {
		t.Error("the generated cases are too few or too alike")
	}
}
