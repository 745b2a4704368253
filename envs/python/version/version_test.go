package version_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/internal/peer"
)

// pieces are what generated versions are made of; many results are no versions.
var pieces = []string{
	"0", "1", "2", "10", "01", "007", "2024", "20240131120000123456", "1.0", "1.0.0", "1.2", "1.2.3", "1.10",
	".", "-", "_", "+", "!", "*", "v", "V", " ", "a", "b", "c", "rc", "alpha", "beta", "pre", "preview", "RC", "post", "rev", "r",
	"dev", ".dev", ".post", "a1", "b2", "rc1", "dev3", "post4", "-1", "+local", "+l.1", "+cu121", "+1.a_2", "1!", "x", "\u212a", "\t", "٣", "é", ".*",
}

// makeVersion gives a text that often is a version.
func makeVersion(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	return some("", "", "", "", "v", "1!", "0!", " ") +
		some("0", "1", "1.0", "1.0.0", "1.1", "1.2.3", "2", "10", "1.10", "1.01") +
		some("", "", "", "", "a1", "a", ".b2", "rc1", "RC2", "-alpha.3", "_c4", "pre", "preview0") +
		some("", "", "", "", ".post1", "-1", "post", "rev2", "-r3", ".post0", "_post_4") +
		some("", "", "", "", ".dev0", "dev1", "-dev2", ".DEV") +
		some("", "", "", "", "", "+local", "+1", "+l.1", "+L-1", "+cu121", "+1.2", "+a.b", "+2")
}

func makeClause(r *rand.Rand) string {
	op := []string{"==", "==", "!=", "<=", ">=", "<", ">", "~=", "===", "=", "", "=>"}[r.IntN(12)]
	return op + []string{"", "", " "}[r.IntN(3)] + strings.TrimSpace(makeVersion(r)) + []string{"", "", "", ".*"}[r.IntN(4)]
}

const askPackaging = `
import json, sys
from packaging.version import Version, InvalidVersion
from packaging.specifiers import SpecifierSet, InvalidSpecifier
q = json.load(sys.stdin)
vs, texts = [], []
for t in q["versions"]:
    try: v = Version(t)
    except InvalidVersion: v = None
    vs.append(v)
    texts.append(None if v is None else [str(v), v.public, v.local or "", v.base_version, v.is_prerelease, v.is_postrelease])
cmp = [None if vs[a] is None or vs[b] is None else (vs[a] > vs[b]) - (vs[a] < vs[b]) for a, b in q["pairs"]]
sets = []
for t in q["sets"]:
    try: s = SpecifierSet(t)
    except InvalidSpecifier: s = None
    sets.append(s)
holds = [None if sets[a] is None or vs[b] is None else sets[a].contains(vs[b], prereleases=True) for a, b in q["asks"]]
json.dump({"texts": texts, "cmp": cmp, "sets": [s is not None for s in sets], "holds": holds}, sys.stdout)
`

// The library `packaging` reads, prints, orders and matches the same.
func TestSameAsPackaging(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var question struct {
		Versions []string `json:"versions"`
		Pairs    [][2]int `json:"pairs"`
		Sets     []string `json:"sets"`
		Asks     [][2]int `json:"asks"`
	}
	for range 6000 {
		question.Versions = append(question.Versions, makeVersion(r))
	}
	for range 30000 {
		question.Pairs = append(question.Pairs, [2]int{r.IntN(len(question.Versions)), r.IntN(len(question.Versions))})
	}
	for range 4000 {
		set := makeClause(r)
		for range r.IntN(3) {
			set += []string{",", ", ", " ,", ",,"}[r.IntN(4)] + makeClause(r)
		}
		question.Sets = append(question.Sets, set)
	}
	for range 60000 {
		question.Asks = append(question.Asks, [2]int{r.IntN(len(question.Sets)), r.IntN(len(question.Versions))})
	}
	var answer struct {
		Texts [][]any `json:"texts"`
		Cmp   []*int  `json:"cmp"`
		Sets  []bool  `json:"sets"`
		Holds []*bool `json:"holds"`
	}
	peer.Ask(t, askPackaging, question, &answer)

	valid, ours := 0, make([]version.Version, len(question.Versions))
	for i, text := range question.Versions {
		v, err := version.Parse(text)
		if (err == nil) != (answer.Texts[i] != nil) {
			t.Errorf("%q: error %v; packaging: %v", text, err, answer.Texts[i])
			continue
		}
		if err != nil {
			if !errors.Is(err, version.ErrVersion) {
				t.Errorf("%q: the error has no class: %v", text, err)
			}
			continue
		}
		valid++
		ours[i] = v
		for j, got := range []any{v.String(), v.Public(), v.Local(), v.Base().String(), v.IsPrerelease(), v.IsPostrelease()} {
			if got != answer.Texts[i][j] {
				t.Errorf("%q, part %d: %v; packaging: %v", text, j, got, answer.Texts[i][j])
			}
		}
	}
	compared := 0
	for i, p := range question.Pairs {
		if answer.Cmp[i] == nil {
			continue
		}
		compared++
		if got := sign(ours[p[0]].Compare(ours[p[1]])); got != *answer.Cmp[i] {
			t.Errorf("%q against %q: %d; packaging: %d", question.Versions[p[0]], question.Versions[p[1]], got, *answer.Cmp[i])
		}
	}
	sets := make([]version.Set, len(question.Sets))
	accepted := 0
	for i, text := range question.Sets {
		s, err := version.ParseSet(text)
		if (err == nil) != answer.Sets[i] {
			t.Errorf("%q: error %v; packaging takes it: %v", text, err, answer.Sets[i])
		}
		if sets[i] = s; err == nil {
			accepted++
		}
	}
	asked := 0
	for i, p := range question.Asks {
		if answer.Holds[i] == nil {
			continue
		}
		asked++
		if got := sets[p[0]].Contains(ours[p[1]]); got != *answer.Holds[i] {
			t.Errorf("%q contains %q: %v; packaging: %v", question.Sets[p[0]], question.Versions[p[1]], got, *answer.Holds[i])
		}
	}
	t.Logf("versions: %d, %d of them valid; pairs: %d; sets: %d, %d of them valid; matches: %d", len(question.Versions), valid, compared, len(sets), accepted, asked)
	if valid < 1000 || compared < 10000 || accepted < 500 || asked < 5000 {
		t.Error("too few were comparable for this test to say anything")
	}
}

func sign(n int) int {
	return max(-1, min(1, n))
}
