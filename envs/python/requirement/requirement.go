// Package requirement reads the dependencies of Python packages as core
// metadata and requirement files write them (PEP 508).
//
// Enters: one requirement, e.g. `requests[socks] >=2.8 ; python_version < "4"`.
// Leaves: its parts. Nothing here does I/O or chooses a version.
package requirement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// ErrRequirement is the class of errors about a text that is no requirement.
var ErrRequirement = errors.New("not a requirement")

// Requirement is one dependency.
type Requirement struct {
	// Name as written; compare names only after normalizing them.
	Name string
	// Extras as written, in the order of the text.
	Extras []string
	// Specifiers of the version; empty where URL is set.
	Specifiers version.Set
	// URL behind `@`; "" = none.
	URL string
	// Marker behind `;`; nil = none.
	Marker *marker.Marker
}

// Parse reads a requirement; the error wraps ErrRequirement.
func Parse(text string) (*Requirement, error) {
	fail := func(why string, args ...any) (*Requirement, error) {
		return nil, fmt.Errorf("%w: %q: %w", ErrRequirement, text, fmt.Errorf(why, args...))
	}
	r := &Requirement{}
	rest := strings.TrimLeft(text, blanks)
	r.Name, rest = identifier(rest)
	if r.Name == "" {
		return fail("it does not begin with the name of a package")
	}
	rest = strings.TrimLeft(rest, blanks)
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		list, behind, ok := strings.Cut(inner, "]")
		if !ok {
			return fail("the list of extras is never closed")
		}
		var err error
		if r.Extras, err = extras(list); err != nil {
			return fail("%w", err)
		}
		rest = strings.TrimLeft(behind, blanks)
	}
	condition := ""
	conditional := false
	if url, ok := strings.CutPrefix(rest, "@"); ok {
		url = strings.TrimLeft(url, blanks)
		n := strings.IndexFunc(url, space)
		if n < 0 {
			n = len(url)
		}
		if r.URL = url[:n]; r.URL == "" {
			return fail("no URL follows the `@`")
		}
		if rest = strings.TrimLeft(url[n:], blanks); rest != "" {
			if condition, conditional = strings.CutPrefix(rest, ";"); !conditional {
				return fail("expected a blank and `;` or the end behind the URL")
			}
		}
	} else {
		var clauses string
		clauses, condition, conditional = cutClauses(rest)
		var err error
		if r.Specifiers, err = specifiers(clauses); err != nil {
			return fail("%w", err)
		}
	}
	if conditional {
		var err error
		if r.Marker, err = marker.Parse(condition); err != nil {
			return fail("%w", err)
		}
	}
	return r, nil
}

// blanks between the parts.
const blanks = " \t"

func space(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

// identifier takes the longest name at the front.
func identifier(s string) (id, rest string) {
	n := 0
	for n < len(s) && (name.Valid(s[n:n+1]) || s[n] == '-' || s[n] == '_' || s[n] == '.') {
		n++
	}
	for n > 0 && !name.Valid(s[n-1:n]) {
		n--
	}
	if !name.Valid(s[:n]) {
		return "", s
	}
	return s[:n], s[n:]
}

func extras(list string) ([]string, error) {
	if strings.Trim(list, blanks) == "" {
		return nil, nil
	}
	var all []string
	for e := range strings.SplitSeq(list, ",") {
		if e = strings.Trim(e, blanks); !name.Valid(e) {
			return nil, fmt.Errorf("`%s` is not the name of an extra", e)
		}
		all = append(all, e)
	}
	return all, nil
}

// cutClauses parts the clauses from the marker. A `;` cannot be part of a
// clause.
func cutClauses(s string) (clauses, condition string, conditional bool) {
	clauses, condition, conditional = strings.Cut(s, ";")
	return strings.Trim(clauses, blanks), condition, conditional
}

func specifiers(s string) (version.Set, error) {
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if s, ok = strings.CutSuffix(inner, ")"); !ok {
			return nil, errors.New("the parenthesis around the versions is never closed")
		}
		s = strings.Trim(s, blanks)
	}
	if s == "" {
		return nil, nil
	}
	// One comma may follow the last clause; elsewhere each has a clause before it.
	s = strings.TrimRight(strings.TrimSuffix(s, ","), blanks)
	for clause := range strings.SplitSeq(s, ",") {
		if strings.Trim(clause, blanks) == "" {
			return nil, errors.New("a clause is missing between commas")
		}
	}
	return version.ParseSet(s)
}

// String is the canonical text; parsing it gives an equal requirement.
func (r *Requirement) String() string {
	var b strings.Builder
	b.WriteString(r.Name)
	if len(r.Extras) > 0 {
		sorted := slices.Clone(r.Extras)
		slices.Sort(sorted)
		b.WriteString("[" + strings.Join(slices.Compact(sorted), ",") + "]")
	}
	if r.URL != "" {
		b.WriteString(" @ " + r.URL)
	} else if len(r.Specifiers) > 0 {
		b.WriteString(" " + r.Specifiers.String())
	}
	if r.Marker != nil {
		b.WriteString(" ; " + r.Marker.String())
	}
	return b.String()
}
