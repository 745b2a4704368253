package version_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/internal/peer"
)

// pieces are what generated versions are made of; many results are no versions.
var pieces = []string{
	"0", "1", "2", "10", "01", "007", "2024", "1.0", "1.0.0", "1.2", "1.2.3", "1.10",
	".", "-", "_", "+", "!", "*", "v", "V", " ", "a", "b", "c", "rc", "alpha", "beta", "RC", "post", "dev",
	".dev", ".post", "a1", "b2", "rc1", "dev3", "post4", "-1", "+local", "+l.1", "1!", "x", "k", "__", "--", "é",
}

func makeVersion(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	if r.IntN(4) == 0 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(some(pieces...))
		}
		return b.String()
	}
	return some("", "", "", "", "v", "1!", "0!") +
		some("0", "1", "1.0", "1.0.0", "1.1", "1.2.3", "2", "10", "1.10", "1.01", "2024", "1.2") +
		some("", "", "", "", "a1", "a", ".b2", "rc1", "RC2", "-alpha.3", "_c4", "pre", "k", "_1", "-1") +
		some("", "", "", "", ".post1", "-1", "post", "_", "-", "__", "_post_4") +
		some("", "", "", "", ".dev0", "dev1", "-dev2", ".DEV") +
		some("", "", "", "", "", "+local", "+1", "+l.1", "+1.2", "+a_b", "+2-")
}

func makeClause(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	return some("==", "==", "!=", "<=", ">=", "<", ">", "~=", "=", "", "", "=>", "!", "^") + some(strings.ReplaceAll(makeVersion(r), " ", ""), strings.ReplaceAll(makeVersion(r), " ", ""), "*") + some("", "", "", ".*", "*", ".*")
}

func makeSpec(r *rand.Rand, depth int) string {
	spec := makeClause(r)
	if depth < 2 && r.IntN(8) == 0 {
		spec = "(" + makeSpec(r, depth+1) + ")"
	}
	for range r.IntN(3) {
		spec += []string{",", ", ", " ,", "|", " | ", ",,", " "}[r.IntN(7)] + makeClause(r)
	}
	return spec
}

const askRattler = `
import json, sys
from rattler import Version, VersionSpec
q = json.load(sys.stdin)
def read(kind, t):
    try: return kind(t)
    except Exception: return None
vs = [read(Version, t) for t in q["versions"]]
cmp = [None if vs[a] is None or vs[b] is None else (vs[a] > vs[b]) - (vs[a] < vs[b]) for a, b in q["pairs"]]
starts = [None if vs[a] is None or vs[b] is None else vs[a].starts_with(vs[b]) for a, b in q["pairs"]]
compatible = [None if vs[a] is None or vs[b] is None else vs[a].compatible_with(vs[b]) for a, b in q["pairs"]]
ss = [read(VersionSpec, t) for t in q["specs"]]
holds = [None if ss[a] is None or vs[b] is None else ss[a].matches(vs[b]) for a, b in q["asks"]]
json.dump({"valid": [v is not None for v in vs], "cmp": cmp, "starts": starts, "compatible": compatible, "specs": [s is not None for s in ss], "holds": holds}, sys.stdout)
`

// rattler reads, orders and matches the same.
func TestSameAsRattler(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var question struct {
		Versions []string `json:"versions"`
		Pairs    [][2]int `json:"pairs"`
		Specs    []string `json:"specs"`
		Asks     [][2]int `json:"asks"`
	}
	for range 5000 {
		question.Versions = append(question.Versions, makeVersion(r))
	}
	for range 40000 {
		question.Pairs = append(question.Pairs, [2]int{r.IntN(len(question.Versions)), r.IntN(len(question.Versions))})
	}
	for range 5000 {
		question.Specs = append(question.Specs, makeSpec(r, 0))
	}
	for range 60000 {
		question.Asks = append(question.Asks, [2]int{r.IntN(len(question.Specs)), r.IntN(len(question.Versions))})
	}
	var answer struct {
		Valid, Specs              []bool
		Cmp                       []*int
		Starts, Compatible, Holds []*bool
	}
	peer.Ask(t, askRattler, question, &answer)

	versions := make([]version.Version, len(question.Versions))
	good := make([]bool, len(question.Versions))
	count, shown := 0, 0
	report := func(format string, args ...any) {
		if shown++; shown < 30 {
			t.Errorf(format, args...)
		} else {
			t.Fail()
		}
	}
	for i, text := range question.Versions {
		v, err := version.Parse(text)
		if (err == nil) != answer.Valid[i] {
			report("%q: error %v; rattler takes it: %v", text, err, answer.Valid[i])
			continue
		}
		if err != nil {
			if !errors.Is(err, version.ErrVersion) {
				t.Errorf("%q: the error has no class: %v", text, err)
			}
			continue
		}
		count++
		versions[i], good[i] = v, true
	}
	for i, p := range question.Pairs {
		a, b := p[0], p[1]
		if answer.Cmp[i] == nil || !good[a] || !good[b] {
			continue
		}
		if got := versions[a].Compare(versions[b]); got != *answer.Cmp[i] {
			report("%s to %s: %d, rattler has %d", versions[a], versions[b], got, *answer.Cmp[i])
		}
		if got := versions[a].StartsWith(versions[b]); got != *answer.Starts[i] {
			report("%s starts with %s: %v, rattler has %v", versions[a], versions[b], got, *answer.Starts[i])
		}
		if got := versions[a].CompatibleWith(versions[b]); got != *answer.Compatible[i] {
			report("%s compatible with %s: %v, rattler has %v", versions[a], versions[b], got, *answer.Compatible[i])
		}
	}
	specs := make([]*version.Spec, len(question.Specs))
	for i, text := range question.Specs {
		s, err := version.ParseSpec(text)
		if (err == nil) != answer.Specs[i] {
			report("constraint %q: error %v; rattler takes it: %v", text, err, answer.Specs[i])
			continue
		}
		if err == nil {
			specs[i] = &s
		} else if !errors.Is(err, version.ErrVersion) {
			t.Errorf("%q: the error has no class: %v", text, err)
		}
	}
	held := 0
	for i, p := range question.Asks {
		s, v := specs[p[0]], p[1]
		if s == nil || !good[v] || answer.Holds[i] == nil {
			continue
		}
		if got := s.Matches(versions[v]); got != *answer.Holds[i] {
			report("%q holds for %s: %v, rattler has %v", s, versions[v], got, *answer.Holds[i])
		}
		if *answer.Holds[i] {
			held++
		}
	}
	t.Logf("%d of %d versions are valid, %d constraints hold; %d differences", count, len(versions), held, shown)
	if count < 1000 || held < 1000 {
		t.Error("the generated cases are too few or too alike")
	}
}
