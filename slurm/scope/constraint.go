package scope

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// constraint is a feature expression as Slurm reads it.
type constraint struct {
	text string
	// match tells whether a node with such features may be among a job's nodes.
	match func(features []string) bool
	// counts of features (a*4), and the features that have one.
	counts  []int
	counted []string
}

var errConstraint = errors.New("it is not understood")

// parseConstraint reads an expression: features joined by & (or a comma) and |, from
// left to right without precedence; parentheses; [a|b] for "all of a or all of b"; a*2
// for "two of a". For one node a bracket means that it has one of the features in it.
func parseConstraint(text string) (*constraint, error) {
	p := &parser{rest: text, c: &constraint{text: text}}
	m, err := p.sequence(0)
	if err != nil {
		return nil, err
	}
	if p.rest != "" {
		return nil, errConstraint
	}
	p.c.match = m
	return p.c, nil
}

type matcher = func([]string) bool

type parser struct {
	rest string
	c    *constraint
}

// sequence reads terms and what joins them up to the closing character, 0 = the end.
func (p *parser) sequence(closing byte) (matcher, error) {
	left, bracket, err := p.term(closing == ']')
	for err == nil && p.rest != "" && p.rest[0] != closing {
		op := p.rest[0]
		if strings.IndexByte("&,|", op) < 0 {
			return nil, errConstraint
		}
		p.rest = p.rest[1:]
		var right matcher
		var again bool
		if right, again, err = p.term(closing == ']'); err != nil {
			break
		}
		// What [a|b]|c means depends on the release.
		if op == '|' && (bracket || again) {
			return nil, errConstraint
		}
		bracket = bracket || again
		left = join(left, right, op == '|' || closing == ']')
	}
	return left, err
}

func join(a, b matcher, or bool) matcher {
	if or {
		return func(f []string) bool { return a(f) || b(f) }
	}
	return func(f []string) bool { return a(f) && b(f) }
}

// term is a feature or what stands in parentheses or brackets.
func (p *parser) term(inBracket bool) (m matcher, bracket bool, err error) {
	if p.rest == "" {
		return nil, false, errConstraint
	}
	closing := byte(0)
	switch p.rest[0] {
	case '(':
		closing = ')'
	case '[':
		closing, bracket = ']', true
		if inBracket {
			return nil, false, errConstraint
		}
	}
	if closing != 0 {
		p.rest = p.rest[1:]
		if m, err = p.sequence(closing); err != nil {
			return nil, false, err
		}
		if p.rest == "" {
			return nil, false, errConstraint
		}
		p.rest = p.rest[1:]
		return m, bracket, p.count("")
	}
	end := strings.IndexAny(p.rest, "&|,*()[]")
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	if name == "" || strings.ContainsAny(name, space) {
		return nil, false, errConstraint
	}
	p.rest = p.rest[end:]
	return func(f []string) bool { return slices.Contains(f, name) }, false, p.count(name)
}

// count reads *N behind a term.
func (p *parser) count(name string) error {
	if p.rest == "" || p.rest[0] != '*' {
		return nil
	}
	digits := p.rest[1:]
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil || n <= 0 {
		return errConstraint
	}
	p.rest = p.rest[1+len(digits):]
	p.c.counts = append(p.c.counts, n)
	p.c.counted = append(p.c.counted, name)
	return nil
}

// binds tells whether every node of a job with at most max nodes (0 = not known) must
// match. A count binds that many nodes only, the others may be any; several counts may
// be met by the same nodes.
func (c *constraint) binds(max int) bool {
	switch len(c.counts) {
	case 0:
		return true
	case 1:
		return c.text == c.counted[0]+"*"+strconv.Itoa(c.counts[0]) && max > 0 && max <= c.counts[0]
	}
	return false
}
