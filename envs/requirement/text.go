package requirement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/cuda"
)

// shown is how many packages a text names.
const shown = 3

// By says who asks: some of the packages, or what else it is.
func (r Requirement) By() string {
	switch {
	case r.File != "" && len(r.Packages) > 0:
		return r.File + " of " + r.Packages[0]
	case r.File != "":
		return r.File
	case len(r.Packages) > 0:
		names := r.Packages[:min(len(r.Packages), shown)]
		text := strings.Join(names, ", ")
		if more := len(r.Packages) - len(names) + r.More; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	case r.Source == Platform:
		return "the lock's platform"
	case r.Source == Manifest:
		return "the manifest's system requirements"
	}
	return string(r.Source)
}

// Text says what a node has and what is asked of it, behind the node's name: "has driver
// 520.61.05, needs >= 525.60.13 (cuda-version 12.9)".
func Text(r Requirement, v Verdict, n Node) string {
	switch {
	case v.Problem != "":
		return v.Problem
	case v.State == Met && v.Found == nil:
		return fmt.Sprintf("has no %s, so that %s does not bind it (%s)", v.Name, r.needs(), r.By())
	}
	return Texts([]Judged{{r, v}}, n)[0]
}

// Judged is a requirement with what Check said of it.
type Judged struct {
	Requirement Requirement
	Verdict     Verdict
}

// Texts is Text of several verdicts over one node, in their order, where what it has
// is said once with all that is asked: "has driver 520.61.05, needs >= 525.60.13
// (cuda-version 12.9, cupy 13.4.1) and >= 535.54.03 (the manifest's system
// requirements)".
func Texts(list []Judged, n Node) []string {
	var said []*judgedAlike
	var out []string
	for _, j := range list {
		if j.Verdict.Problem != "" || j.Verdict.State == Met && j.Verdict.Found == nil {
			out = append(out, Text(j.Requirement, j.Verdict, n))
			continue
		}
		has := j.Verdict.has(n)
		i := slices.IndexFunc(said, func(l *judgedAlike) bool { return l.has == has && l.of[0].Verdict.State == j.Verdict.State })
		if i < 0 {
			i, said = len(said), append(said, &judgedAlike{has: has})
		}
		said[i].of = append(said[i].of, j)
	}
	for _, l := range said {
		out = append(out, l.text(n))
	}
	return out
}

// judgedAlike is what a node has, and requirements on it that have one verdict.
type judgedAlike struct {
	has string
	of  []Judged
}

func (l *judgedAlike) text(n Node) string {
	has, hint := l.has, ""
	needs := func(r Requirement) string {
		if r.Source == CUDA {
			return r.needsCUDA(n.table())
		}
		return r.needs()
	}
	switch {
	case !slices.ContainsFunc(l.of, func(j Judged) bool { _, ok := j.driver(n); return !ok }):
		// All ask for some driver or a newer one: then that is what is said.
		has = "has driver " + n.Driver
		needs = func(r Requirement) string {
			d, _ := Judged{r, l.of[0].Verdict}.driver(n)
			return ">= " + d.String()
		}
		hint = n.noForward(l.of)
	case !slices.ContainsFunc(l.of, func(j Judged) bool { return j.Requirement.Source != CUDA || j.Verdict.Found == nil }):
		if found := l.of[0].Verdict.Found; found.Name == "__cuda_arch" {
			has = fmt.Sprintf("has %s of compute capability %s", n.lowestGPUs(found.Version), found.Version)
			needs = func(r Requirement) string {
				return ">= " + strings.TrimPrefix(r.needsCUDA(n.table()), "__cuda_arch >=")
			}
		}
	}
	var asked []Requirement
	for _, j := range l.of {
		r := j.Requirement
		same := slices.IndexFunc(asked, func(o Requirement) bool {
			return needs(o) == needs(r) && len(o.Packages) > 0 && len(r.Packages) > 0 && o.File == "" && r.File == ""
		})
		if same < 0 {
			asked = append(asked, r)
			continue
		}
		o := &asked[same]
		o.Packages, o.More = slices.Concat(o.Packages, r.Packages), o.More+r.More
		slices.Sort(o.Packages)
		o.Packages = slices.Compact(o.Packages)
	}
	var texts []string
	for _, r := range asked {
		texts = append(texts, fmt.Sprintf("%s (%s)", needs(r), r.By()))
	}
	last := texts[len(texts)-1]
	if others := texts[:len(texts)-1]; len(others) > 0 {
		last = strings.Join(others, ", ") + " and " + last
	}
	return has + ", needs " + last + hint
}

// has is what a node has in place of what is asked.
func (v *Verdict) has(n Node) string {
	switch name := v.Name; {
	case v.State == Assumed && v.Found == nil:
		return fmt.Sprintf("is taken to have %s, of which nothing is known", name)
	case v.State == Assumed:
		return fmt.Sprintf("is taken to have %s in a version that fits, as its own is not known", name)
	case v.Found != nil:
		return "has " + v.Found.text(n)
	case name == "__cuda" && n.Driver != "":
		return fmt.Sprintf("has driver %s, of which it is not known what CUDA it serves (no %s)", n.Driver, name)
	case name == "__cuda_arch" && n.Driver != "":
		return fmt.Sprintf("has driver %s, and no GPU of a known compute capability (no %s)", n.Driver, name)
	case name == "__cuda" || name == "__cuda_arch":
		return fmt.Sprintf("has no GPU driver (no %s)", name)
	case name == "__glibc":
		return "has no glibc"
	default:
		return "has no " + name
	}
}

// needs is the spec for people: what a platform has is the least that a node must
// have.
func (r Requirement) needs() string {
	if r.Source == CUDA {
		return r.needsCUDA(cuda.Default())
	}
	if r.Source == Platform {
		if a, ok, err := readPlatform(r.Spec); ok && err == nil {
			return strings.TrimRight(a.name+" >="+a.least.String()+" "+a.build.String(), " ")
		}
	}
	return strings.Join(strings.Fields(r.Spec), " ")
}

// text is what a node has, for people.
func (v *Virtual) text(n Node) string {
	short := v.Name + " " + v.Version
	switch v.Name {
	case "__cuda":
		if n.Driver != "" {
			return fmt.Sprintf("driver %s (%s)", n.Driver, short)
		}
	case "__cuda_arch":
		return fmt.Sprintf("a GPU of compute capability %s (%s)", v.Version, short)
	case "__glibc":
		return "glibc " + v.Version
	case "__linux":
		return "Linux " + v.Version
	case archspec:
		return "a " + cmp.Or(v.Build, "processor of an unknown kind")
	}
	return short
}
