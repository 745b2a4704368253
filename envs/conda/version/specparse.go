package version

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds parentheses in one another.
const maxNesting = 50

// ParseSpec reads a constraint: clauses with "," (and) and "|" (or, weaker),
// parentheses, the operators ==, =, !=, !=startswith by ".*", >, >=, <, <=, ~=.
// A version alone means exactly it; with "*" or ".*" at the end, or "=" in front,
// what begins with it. The error wraps ErrVersion.
func ParseSpec(text string) (Spec, error) {
	p := &specParser{rest: text}
	root, err := p.any(0)
	if err == nil && p.space() != "" {
		err = fmt.Errorf("%q is too much", p.rest)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("%w constraint: %q: %w", ErrVersion, text, err)
	}
	return Spec{text, root}, nil
}

type specParser struct{ rest string }

// space skips blanks and returns what follows.
func (p *specParser) space() string {
	p.rest = strings.TrimLeft(p.rest, " \t\n\r")
	return p.rest
}

// any reads what "|" separates.
func (p *specParser) any(depth int) (node, error) {
	return p.list('|', depth, p.every, func(n []node) node { return one(n) })
}

// every reads what "," separates.
func (p *specParser) every(depth int) (node, error) {
	return p.list(',', depth, p.term, func(n []node) node { return all(n) })
}

func (p *specParser) list(sep byte, depth int, read func(int) (node, error), join func([]node) node) (node, error) {
	var out []node
	for {
		n, err := read(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if rest := p.space(); rest == "" || rest[0] != sep {
			break
		}
		p.rest = p.rest[1:]
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return join(out), nil
}

// term reads a clause or a parenthesis.
func (p *specParser) term(depth int) (node, error) {
	rest := p.space()
	if strings.HasPrefix(rest, "(") {
		if depth == maxNesting {
			return nil, errors.New("parentheses are nested too deep")
		}
		p.rest = rest[1:]
		n, err := p.any(depth + 1)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.space(), ")") {
			return nil, errors.New("a parenthesis is never closed")
		}
		p.rest = p.rest[1:]
		return n, nil
	}
	end := strings.IndexAny(rest, ",|()")
	if end < 0 {
		end = len(rest)
	}
	p.rest = rest[end:]
	return parseClause(strings.TrimRight(rest[:end], " \t\n\r"))
}

// operators by their text, longer ones first.
var operators = []struct {
	text string
	op   operator
}{
	{"==", equal}, {"!=", notEqual}, {"~=", compatible}, {">=", atLeast}, {"<=", atMost},
	{"=", prefix}, {">", above}, {"<", below},
}

func parseClause(s string) (node, error) {
	if s == "" {
		return nil, errors.New("a clause is missing")
	}
	op, explicit := equal, false
	for _, o := range operators {
		if rest, ok := strings.CutPrefix(s, o.text); ok {
			op, explicit, s = o.op, true, strings.TrimLeft(rest, " \t")
			break
		}
	}
	if strings.HasPrefix(s, "^") || strings.HasSuffix(s, "$") {
		return nil, errors.New("regular expressions are not supported")
	}
	if s == "*" || s == "*.*" && !explicit {
		if op == notEqual || op == above || op == below {
			return nil, errors.New("no version satisfies it")
		}
		return anything{}, nil
	}
	base := s
	for strings.HasSuffix(base, ".*") {
		base = strings.TrimSuffix(base, ".*")
	}
	if base == s {
		base = strings.TrimSuffix(s, "*")
	}
	glob := base != s
	s = base
	if strings.Contains(s, "*") {
		return nil, errors.New("`*` stands elsewhere than at the end")
	}
	v, err := Parse(s)
	if err != nil {
		return nil, err
	}
	if glob && !explicit {
		op = prefix
	} else if glob {
		op = globbed(op)
	}
	return clause{op, v}, nil
}

// globbed is what an operator means in front of a version that ends in "*".
func globbed(op operator) operator {
	switch op {
	case notEqual:
		return notPrefix
	case above:
		return atLeast // what is above all of 1.2.* was always read as above 1.2
	}
	return op
}
