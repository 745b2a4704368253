package matchspec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Pattern is a pattern of build strings: a text, a text with `*` in it, or a
// regular expression between ^ and $. The zero value fits every text.
type Pattern struct {
	text string
	expr *regexp.Regexp // nil = the text itself
}

// String is the pattern as written; "" = none.
func (p Pattern) String() string { return p.text }

// Matches tells whether a text fits.
func (p Pattern) Matches(s string) bool {
	switch {
	case p.text == "" || p.text == "*":
		return true
	case p.expr != nil:
		return p.expr.MatchString(s)
	}
	return p.text == s
}

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	var expr string
	switch {
	case strings.HasPrefix(s, "^") && strings.HasSuffix(s, "$") && len(s) > 1:
		expr = s
	case s != "*" && strings.Contains(s, "*"):
		pieces := strings.Split(s, "*")
		for i := range pieces {
			pieces[i] = regexp.QuoteMeta(pieces[i])
		}
		expr = "(?s)^" + strings.Join(pieces, ".*") + "$"
	default:
		return p, nil
	}
	var err error
	if p.expr, err = regexp.Compile(expr); err != nil {
		return Pattern{}, fmt.Errorf("%w: the build pattern %q: %w", ErrMatchSpec, s, err)
	}
	return p, nil
}

// NumberSpec is a comparison of build numbers. The zero value holds for all.
type NumberSpec struct {
	op    string
	value int64
}

// Matches tells whether a build number satisfies it.
func (n NumberSpec) Matches(v int64) bool {
	switch n.op {
	case "==":
		return v == n.value
	case "!=":
		return v != n.value
	case ">=":
		return v >= n.value
	case "<=":
		return v <= n.value
	case ">":
		return v > n.value
	case "<":
		return v < n.value
	}
	return true
}

// ParseNumber reads a comparison: a number with ==, !=, >=, <=, >, < or nothing
// in front.
func ParseNumber(s string) (NumberSpec, error) {
	rest := strings.TrimLeft(s, "=!<>")
	n := NumberSpec{op: s[:len(s)-len(rest)]}
	switch n.op {
	case "":
		n.op = "=="
	case "==", "!=", ">=", "<=", ">", "<":
	default:
		return NumberSpec{}, fmt.Errorf("%w: the build number %q: the operator is not known", ErrMatchSpec, s)
	}
	var err error
	if n.value, err = strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err != nil || n.value < 0 {
		return NumberSpec{}, fmt.Errorf("%w: the build number %q is not a number", ErrMatchSpec, s)
	}
	return n, nil
}
