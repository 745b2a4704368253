package requirement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// shown is how many packages a text names.
const shown = 3

// By says who asks: some of the packages, or what else it is.
func (r Requirement) By() string {
	switch {
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

// Text says what a node has and what is asked of it, behind the node's name:
// "has driver 520.61.05 (__cuda 11.8), needs __cuda >=12 (cuda-version 12.9)".
func Text(r Requirement, v Verdict, n Node) string {
	has, asks := r.has(v, n)
	if !asks {
		return has
	}
	return fmt.Sprintf("%s, needs %s (%s)", has, r.needs(), r.By())
}

// Judged is a requirement with what was found of a node.
type Judged struct {
	Requirement Requirement
	Verdict     Verdict
}

// Texts are what Text says of several requirements, those of one thing in one: what the
// node has, and who asks for what of it.
func Texts(list []Judged, n Node) []string {
	var order []string
	needs := map[string][]Requirement{}
	for _, j := range list {
		has, asks := j.Requirement.has(j.Verdict, n)
		if _, known := needs[has]; !known {
			order = append(order, has)
			needs[has] = nil
		}
		if asks {
			needs[has] = join(needs[has], j.Requirement)
		}
	}
	out := make([]string, len(order))
	for i, has := range order {
		out[i] = has
		for k, r := range needs[has] {
			what := ", needs"
			if k > 0 {
				what = " and"
			}
			out[i] += fmt.Sprintf("%s %s (%s)", what, r.needs(), r.By())
		}
	}
	return out
}

// join adds a requirement to others; one that asks for the same adds its packages.
func join(list []Requirement, r Requirement) []Requirement {
	for i := range list {
		if have := &list[i]; have.needs() == r.needs() && len(have.Packages) > 0 && len(r.Packages) > 0 {
			have.Packages = append(slices.Clone(have.Packages), r.Packages...)
			slices.Sort(have.Packages)
			have.Packages = slices.Compact(have.Packages)
			have.More += r.More
			return list
		}
	}
	return append(list, r)
}

// has is what a node has, or does not have, of what is asked for; asks: what is asked
// for is still to be said.
func (r Requirement) has(v Verdict, n Node) (text string, asks bool) {
	if v.Problem != "" {
		return v.Problem, false
	}
	name := v.Name
	switch {
	case v.State == Assumed && v.Found == nil:
		return fmt.Sprintf("is taken to have %s, of which nothing is known", name), true
	case v.State == Assumed:
		return fmt.Sprintf("is taken to have %s in a version that fits, as its own is not known", name), true
	case v.Found != nil:
		return "has " + v.Found.text(n), true
	case v.State == Met:
		return fmt.Sprintf("has no %s, so that %s does not bind it (%s)", name, r.needs(), r.By()), false
	case name == "__cuda" && n.Driver != "":
		return fmt.Sprintf("has driver %s, of which it is not known what CUDA it serves (no %s)", n.Driver, name), true
	case name == "__cuda_arch" && n.Driver != "":
		return fmt.Sprintf("has driver %s, and no GPU of a known compute capability (no %s)", n.Driver, name), true
	case name == "__cuda" || name == "__cuda_arch":
		return fmt.Sprintf("has no GPU driver (no %s)", name), true
	case name == "__glibc":
		return "has no glibc", true
	}
	return "has no " + name, true
}

// needs is the spec for people: what a platform has is the least that a node must
// have.
func (r Requirement) needs() string {
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
