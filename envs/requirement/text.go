package requirement

import (
	"cmp"
	"fmt"
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
	if v.Problem != "" {
		return v.Problem
	}
	needs := fmt.Sprintf("needs %s (%s)", r.needs(), r.By())
	name := v.Name
	switch {
	case v.State == Assumed && v.Found == nil:
		return fmt.Sprintf("is taken to have %s, of which nothing is known, %s", name, needs)
	case v.State == Assumed:
		return fmt.Sprintf("is taken to have %s in a version that fits, as its own is not known, %s", name, needs)
	case v.Found != nil:
		return "has " + v.Found.text(n) + ", " + needs
	case v.State == Met:
		return fmt.Sprintf("has no %s, so that %s does not bind it (%s)", name, r.needs(), r.By())
	case name == "__cuda" && n.Driver != "":
		return fmt.Sprintf("has driver %s, of which it is not known what CUDA it serves (no %s), %s", n.Driver, name, needs)
	case name == "__cuda_arch" && n.Driver != "":
		return fmt.Sprintf("has driver %s, and no GPU of a known compute capability (no %s), %s", n.Driver, name, needs)
	case name == "__cuda" || name == "__cuda_arch":
		return fmt.Sprintf("has no GPU driver (no %s), %s", name, needs)
	case name == "__glibc":
		return fmt.Sprintf("has no glibc, %s", needs)
	}
	return fmt.Sprintf("has no %s, %s", name, needs)
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
