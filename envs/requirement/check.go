package requirement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
)

const archspec = "__archspec"

// State is how a requirement stands on a node.
type State string

// States.
const (
	// Met: the node has what is asked, or a constraint does not bind it.
	Met State = "ok"
	// Unmet: the node does not have it, or nobody can read what is asked.
	Unmet State = "unmet"
	// Assumed: the node's facts do not tell; it is taken to have it.
	Assumed State = "assumed"
)

// Verdict on a requirement.
type Verdict struct {
	State State
	// Name of the virtual package that is asked for; "" of a spec that cannot be
	// read.
	Name string
	// Found is what the node has of it; nil = nothing.
	Found *Virtual
	// Problem says why nothing could be compared: the spec, or the node's version,
	// is not one. Empty for all other verdicts.
	Problem string
}

// OK tells that the requirement does not keep the environment from the node.
func (v Verdict) OK() bool { return v.State != Unmet }

// asked is a spec that was read.
type asked struct {
	name    string
	version version.Spec
	build   matchspec.Pattern
	// condition under which it binds; "" = always.
	condition string
	// least: a platform's version, which the node's must reach; then version asks
	// nothing.
	least    version.Version
	hasLeast bool
}

// Readable returns an error that names the packages and the spec if the spec
// cannot be read; it wraps matchspec.ErrMatchSpec or version.ErrVersion.
func Readable(r Requirement) error {
	_, err := read(r)
	return err
}

func read(r Requirement) (asked, error) {
	if r.Source == CUDA {
		_, _, err := readCUDA(r.Spec)
		return asked{}, unreadable(r, err)
	}
	if r.Source == Platform {
		if a, ok, err := readPlatform(r.Spec); ok || err != nil {
			return a, unreadable(r, err)
		}
	}
	m, err := matchspec.Parse(r.Spec)
	if err != nil {
		return asked{}, unreadable(r, err)
	}
	return asked{name: m.Name, version: m.Version, build: m.Build, condition: m.Condition}, nil
}

func unreadable(r Requirement, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s asks for %q, which cannot be read: %w", r.By(), r.Spec, err)
}

// readPlatform reads NAME, NAME=VERSION or NAME=VERSION=BUILD; ok is false of
// anything else, which then is a match spec like others.
func readPlatform(s string) (a asked, ok bool, err error) {
	name, rest, has := strings.Cut(s, "=")
	if !has || strings.ContainsAny(s, " <>!~|,[*") || strings.HasPrefix(rest, "=") {
		return a, false, nil
	}
	v, build, _ := strings.Cut(rest, "=")
	a = asked{name: strings.ToLower(name), hasLeast: true}
	if a.least, err = version.Parse(v); err != nil {
		return a, false, err
	}
	if a.name == archspec { // of others it says nothing about a node
		a.build, err = matchspec.ParsePattern(build)
	}
	return a, err == nil, err
}

// Check tells whether a node has what is required.
//
// A constraint binds only a node that has the virtual package. A build of
// __archspec names a microarchitecture, or many with a pattern; it is met by a
// node whose microarchitecture is one of them or descends from one: what was built
// for an ancestor runs on it. All else is as conda has it: of a spec over a virtual
// package, version and build count.
//
// Where an environment has cuda-compat, a __cuda that is too old is taken for that of
// the package on nodes that forward compatibility is for.
//
// Behind "; if" or in `when` a dependency may have a condition. One over a virtual
// package that the node does not meet takes the requirement away; any other was
// the solver's to decide, and the requirement binds. A constraint's does not count.
func Check(r Requirement, n Node) Verdict {
	if r.Source == CUDA {
		return checkCUDA(&r, &n)
	}
	a, err := read(r)
	if err != nil {
		return Verdict{State: Unmet, Problem: err.Error()}
	}
	if r.Source == Depends && virtual(a.condition) {
		condition := Requirement{Spec: a.condition, Source: Depends}
		if c := Check(condition, n); !c.OK() && c.Problem == "" {
			return Verdict{State: Met, Name: a.name}
		}
	}
	has, there := n.Virtuals[a.name]
	if !there {
		switch {
		case n.Assumed && !never(a.name):
			return Verdict{State: Assumed, Name: a.name}
		case r.Source == Constrains:
			return Verdict{State: Met, Name: a.name}
		}
		return Verdict{State: Unmet, Name: a.name}
	}
	v := Verdict{State: Unmet, Name: a.name, Found: &has}
	if has.Version == "" || a.name == archspec && has.Build == "" && len(n.Ancestors) == 0 {
		v.State = Assumed
		return v
	}
	is, err := version.Parse(has.Version)
	if err != nil {
		v.Problem = fmt.Sprintf("the node's %s has the version %q, which is none: %v", a.name, has.Version, err)
		return v
	}
	if a.holds(is, has.Build, n.Ancestors) {
		v.State = Met
	} else if compat, err := version.Parse(r.Compat); err == nil && a.name == "__cuda" && a.holds(compat, has.Build, n.Ancestors) {
		v.State = n.forward(&r, Unmet)
	}
	return v
}

// holds compares version and build of the virtual package that was asked for.
func (a *asked) holds(is version.Version, build string, ancestors []string) bool {
	if a.hasLeast && is.Compare(a.least) < 0 || !a.version.Matches(is) {
		return false
	}
	builds := []string{build}
	if a.name == archspec {
		builds = append(builds, ancestors...)
	}
	return slices.ContainsFunc(builds, a.build.Matches)
}

// never tells that no node has the virtual package, whether or not anybody looked.
func never(name string) bool { return name == "__osx" || name == "__win" }
