package version

import (
	"fmt"
	"strings"
)

// Operator is how a clause compares.
type Operator string

// The operators of PEP 440.
const (
	Compatible Operator = "~="
	Equal      Operator = "=="
	NotEqual   Operator = "!="
	AtMost     Operator = "<="
	AtLeast    Operator = ">="
	Below      Operator = "<"
	Above      Operator = ">"
	Identical  Operator = "===" // the same text
)

// operators, the longer before what they begin with.
var operators = []Operator{Identical, Compatible, Equal, NotEqual, AtMost, AtLeast, Below, Above}

// Specifier is one clause, e.g. ">=3.10" or "==1.2.*".
type Specifier struct {
	Op Operator
	// Version of the clause; the zero value for Identical.
	Version Version
	// Prefix: the clause ends in ".*".
	Prefix bool
	// Text of the version as written.
	Text string
}

// ParseSpecifier reads one clause; the error wraps ErrVersion.
func ParseSpecifier(text string) (Specifier, error) {
	s, why := parseSpecifier(strings.TrimFunc(text, blank))
	if why != "" {
		return Specifier{}, fmt.Errorf("%w clause: %.200q: %s", ErrVersion, text, why)
	}
	return s, nil
}

func parseSpecifier(text string) (s Specifier, why string) {
	for _, op := range operators {
		if rest, ok := strings.CutPrefix(text, string(op)); ok {
			s.Op, s.Text = op, strings.TrimLeftFunc(rest, blank)
			break
		}
	}
	if s.Op == "" {
		return s, "it begins with none of ~= == != <= >= < > ==="
	}
	if s.Op == Identical {
		if s.Text == "" || strings.ContainsFunc(s.Text, func(r rune) bool { return blank(r) || r == ';' || r == ')' }) {
			return s, "=== needs one word"
		}
		return s, ""
	}
	body := s.Text
	if s.Op == Equal || s.Op == NotEqual {
		body, s.Prefix = strings.CutSuffix(s.Text, ".*")
	}
	v, ok := parse(body)
	switch {
	case !ok:
		return s, "no version stands behind the operator"
	case s.Prefix && (v.IsPrerelease() || v.IsPostrelease() || v.local != nil):
		return s, "`.*` may follow nothing but a release"
	case v.local != nil && s.Op != Equal && s.Op != NotEqual:
		return s, "only == and != take a local version"
	case s.Op == Compatible && len(v.release) < 2:
		return s, "~= needs two numbers or more"
	}
	s.Version = v
	return s, ""
}

// String is the clause as written, without blanks.
func (s Specifier) String() string { return string(s.Op) + s.Text }

// Contains tells whether v satisfies the clause. Pre-releases are taken like
// all others: which of them to consider is for who chooses.
func (s Specifier) Contains(v Version) bool {
	public := v
	public.local = nil
	switch s.Op {
	case Compatible:
		series := s.Version.Base()
		series.release = series.release[:len(series.release)-1]
		return public.Compare(s.Version) >= 0 && v.hasPrefix(series)
	case Equal:
		return s.equal(v, public)
	case NotEqual:
		return !s.equal(v, public)
	case AtMost:
		return public.Compare(s.Version) <= 0
	case AtLeast:
		return public.Compare(s.Version) >= 0
	case Below:
		return v.Compare(s.Version) < 0 && !leadsTo(v, s.Version)
	case Above:
		return v.Compare(s.Version) > 0 && !followsUp(public, s.Version)
	case Identical:
		return strings.EqualFold(v.String(), s.Text)
	}
	return false
}

func (s Specifier) equal(v, public Version) bool {
	switch {
	case s.Prefix:
		return v.hasPrefix(s.Version)
	case s.Version.local == nil:
		return public.Equal(s.Version)
	}
	return v.Equal(s.Version)
}

// leadsTo: v is a pre-release of w itself, which "<w" excludes.
func leadsTo(v, w Version) bool {
	switch {
	case !v.IsPrerelease() || w.IsPrerelease():
		return false
	case w.IsPostrelease():
		v.dev, v.local = "", nil
		return v.Equal(w)
	}
	return v.Base().Equal(w.Base())
}

// followsUp: v is a post-release or local version of w itself, which ">w"
// excludes. public is v without its local part.
func followsUp(public, w Version) bool {
	if public.Equal(w) {
		return true
	}
	if w.post != "" || w.dev != "" || public.post == "" {
		return false
	}
	public.post, public.dev = "", ""
	return public.Equal(w)
}
