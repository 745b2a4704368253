// Package matchspec knows conda's match specifications: what a package's
// dependencies and a manifest ask of another package.
//
// Enters: a text such as `python >=3.10,<3.13 *_cpython` or
// `conda-forge::numpy[version='>=2', build=py*]`. Leaves: a MatchSpec that says
// whether a package satisfies it. Nothing here does I/O.
//
//	matchspec.go  what a specification holds, and whether a package satisfies it
//	parse.go      the text to its parts
//	split.go      version and build, brackets
//	pattern.go    patterns of build strings, comparisons of build numbers
//
// The reference is rattler's lenient reading; the tests compare with it.
package matchspec

import (
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
)

// MatchSpec is what is asked of a package. The zero value of a field asks
// nothing.
type MatchSpec struct {
	text string
	// Name in lower case.
	Name string
	// Version is the constraint on the version.
	Version version.Spec
	// Build is the pattern of the build string.
	Build Pattern
	// BuildNumber is the comparison of the build number.
	BuildNumber NumberSpec
	// Channel, Subdir, FileName and URL as written. Matches looks at none of them:
	// a package is the same wherever it came from.
	Channel, Subdir, FileName, URL string
	// MD5 and SHA256 of the archive in lower-case hex.
	MD5, SHA256 string
	// License exactly.
	License string
	// Extras of the package that are asked for, too.
	Extras []string
	// Condition behind `when=` or `; if`: the dependency counts only where it
	// holds. It is not evaluated here.
	Condition string
}

// String is the specification as it was read.
func (m *MatchSpec) String() string { return m.text }

// Virtual tells that the specification asks something of the node, not of a
// package: its name begins with two underscores.
func (m *MatchSpec) Virtual() bool { return strings.HasPrefix(m.Name, "__") }

// Package is what of a package a specification looks at.
type Package struct {
	Name    string
	Version version.Version
	Build   string
	// BuildNumber from 0.
	BuildNumber int64
	License     string
	// MD5 and SHA256 in lower-case hex; "" = not known, which satisfies none.
	MD5, SHA256 string
}

// Matches tells whether a package satisfies the specification, its condition
// left aside.
func (m *MatchSpec) Matches(p *Package) bool {
	return strings.EqualFold(m.Name, p.Name) && m.MatchesNameless(p)
}

// MatchesNameless is Matches without the name.
func (m *MatchSpec) MatchesNameless(p *Package) bool {
	return m.Version.Matches(p.Version) && m.Build.Matches(p.Build) && m.BuildNumber.Matches(p.BuildNumber) &&
		(m.License == "" || m.License == p.License) && (m.MD5 == "" || m.MD5 == p.MD5) && (m.SHA256 == "" || m.SHA256 == p.SHA256)
}
