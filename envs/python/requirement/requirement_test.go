package requirement_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/internal/peer"
)

const askPackaging = `
import json, sys
from packaging.requirements import Requirement, InvalidRequirement
out = []
for t in json.load(sys.stdin):
    try: r = Requirement(t)
    except InvalidRequirement: out.append(None); continue
    out.append([r.name, sorted(r.extras), sorted(str(s) for s in r.specifier), r.url or "", "" if r.marker is None else str(r.marker)])
json.dump(out, sys.stdout)
`

func make1(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	text := some("", " ", "") + some("foo", "Foo.Bar", "a", "x_y-z", "-foo", "foo-", "1a", "f oo", "") +
		some("", "", " ") + some("", "", "", "[]", "[gpu]", "[ gpu , io_all ]", "[gpu io]", "[gpu,]", "[", "[gpu") + some("", " ")
	if r.IntN(4) == 0 {
		text += some("@ ", "@", " @ ") + some("https://pypi.example/foo-1.0.tar.gz", "git+https://pypi.example/r@abc#egg=x", "./local", "", "file:///a;b")
		text += some("", " ", " ;", ";")
	} else {
		text += some("", "", "(>=1.0)", "( >=1.0 , <2 )", ">=1.0", ">= 1.0, <2", "==1.*", "~=1.4.2,!=1.4.5", ">=1,", ",>=1", ">=1,,<2", "===weird", "=1", "(>=1", ">=1)", ">1.*", "<2+l", "==1+l", "1.0", ">=1 <2")
		text += some("", "", ";", " ; ", "; ")
	}
	if strings.Contains(text, ";") {
		text += some("", "python_version>='3'", "extra == 'x' and os_name=='nt'", "foo", "(sys_platform == \"linux\")", "python_version < '3.9' or extra=='T_e'")
	}
	return text
}

// Requirements are taken apart as the library `packaging` does.
func TestSameAsPackaging(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var texts []string
	for range 20000 {
		texts = append(texts, make1(r))
	}
	var answers [][]any
	peer.Ask(t, askPackaging, texts, &answers)
	valid := 0
	for i, text := range texts {
		q, err := requirement.Parse(text)
		if (err == nil) != (answers[i] != nil) {
			t.Errorf("%q: error %v; packaging: %v", text, err, answers[i])
			continue
		}
		if err != nil {
			if !errors.Is(err, requirement.ErrRequirement) {
				t.Errorf("%q: the error has no class: %v", text, err)
			}
			continue
		}
		valid++
		extras := slices.Clone(q.Extras)
		slices.Sort(extras)
		var clauses []string
		for _, s := range q.Specifiers {
			clauses = append(clauses, s.String())
		}
		slices.Sort(clauses)
		for j, ours := range []string{q.Name, strings.Join(slices.Compact(extras), ","), strings.Join(slices.Compact(clauses), ","), q.URL, q.Marker.String()} {
			theirs, ok := answers[i][j].(string)
			if list, is := answers[i][j].([]any); is {
				var all []string
				for _, one := range list {
					all = append(all, one.(string))
				}
				theirs, ok = strings.Join(all, ","), true
			}
			if !ok || ours != theirs {
				t.Errorf("%q, part %d: %q; packaging: %q", text, j, ours, theirs)
			}
		}
	}
	if t.Logf("%d requirements, %d of them valid", len(texts), valid); valid < 2000 {
		t.Error("too few were comparable for this test to say anything")
	}
}

// The canonical text is the same requirement, and its own canonical text.
func FuzzRequirement(f *testing.F) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 40 {
		f.Add(make1(r))
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := requirement.Parse(text)
		if err != nil {
			if !errors.Is(err, requirement.ErrRequirement) {
				t.Fatalf("%q: the error has no class: %v", text, err)
			}
			return
		}
		if !name.Valid(q.Name) || q.URL != "" && q.Specifiers != nil {
			t.Fatalf("%q: %+v", text, q)
		}
		again, err := requirement.Parse(q.String())
		if err != nil || again.String() != q.String() {
			t.Fatalf("%q prints as %q, which reads as %v (%v)", text, q, again, err)
		}
	})
}
