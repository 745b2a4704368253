package marker

import (
	"errors"

	"github.com/hpcenv/hpcenv/envs/python/name"
)

// ErrMarker is the class of errors about a text that is no marker, or compares
// what cannot be compared.
var ErrMarker = errors.New("not an environment marker")

// ErrUnknown says that a marker hangs on a value that is not known when
// packages are chosen. It is no ErrMarker: the marker as such is right.
var ErrUnknown = errors.New("environment marker asks what differs from node to node")

// maxDepth bounds nested parentheses.
const maxDepth = 200

// Marker is a condition. A nil *Marker always holds.
type Marker struct {
	root *node
}

// node is a comparison (left, op, right) or a chain of nodes joined by `and` or
// `or`.
type node struct {
	join  string // "and", "or"; "" for a comparison
	parts []*node

	op string // an operator, "in", "not in"
	// variable of the comparison, and the text it is compared with.
	variable variable
	literal  string
	// reversed: the text stands on the left.
	reversed bool
}

// Parse reads a marker; the error wraps ErrMarker and names the column.
func Parse(text string) (*Marker, error) {
	all, err := tokens(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, tokens: all}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if t := p.next(); t.kind != end {
		return nil, syntax(text, t.at, "expected `and`, `or` or the end")
	}
	return &Marker{root: root}, nil
}

type parser struct {
	text   string
	tokens []token
	i      int
}

func (p *parser) peek() token { return p.tokens[p.i] }

// next takes a token; the end is never passed.
func (p *parser) next() token {
	t := p.tokens[p.i]
	if t.kind != end {
		p.i++
	}
	return t
}

// keyword takes a word if it is the next token.
func (p *parser) keyword(w string) bool {
	if t := p.peek(); t.kind != word || t.text != w {
		return false
	}
	p.i++
	return true
}

func (p *parser) or(depth int) (*node, error) {
	return p.chain("or", func() (*node, error) {
		return p.chain("and", func() (*node, error) { return p.atom(depth) })
	})
}

func (p *parser) chain(join string, part func() (*node, error)) (*node, error) {
	n := &node{join: join}
	for {
		one, err := part()
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, one)
		if !p.keyword(join) {
			break
		}
	}
	if len(n.parts) == 1 {
		return n.parts[0], nil
	}
	return n, nil
}

func (p *parser) atom(depth int) (*node, error) {
	opened := p.peek()
	if opened.kind != open {
		return p.comparison()
	}
	if depth == maxDepth {
		return nil, syntax(p.text, opened.at, "parentheses are nested too deep")
	}
	p.next()
	n, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if t := p.next(); t.kind != shut {
		return nil, syntax(p.text, t.at, "expected `and`, `or` or a closing parenthesis")
	}
	return n, nil
}

func (p *parser) comparison() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	at := p.peek().at
	op, err := p.operator()
	if err != nil {
		return nil, err
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	n := &node{op: op}
	switch {
	case left.kind == word && right.kind == quoted:
		n.variable, n.literal = canonical[left.text], right.text
	case left.kind == quoted && right.kind == word:
		n.variable, n.literal, n.reversed = canonical[right.text], left.text, true
	default:
		return nil, syntax(p.text, left.at, "one side must be a variable, the other a quoted text")
	}
	return n, p.check(n, at)
}

// check refuses what has no meaning for the variable.
func (p *parser) check(n *node, at int) error {
	switch {
	case n.variable.set():
		if !n.reversed || n.op != "in" && n.op != "not in" {
			return syntax(p.text, at, "`"+string(n.variable)+"` takes only the form 'name' in "+string(n.variable))
		}
		n.literal = name.Normalize(n.literal)
	case n.variable == extra:
		if n.op != "==" && n.op != "!=" {
			return syntax(p.text, at, "`extra` can only be compared by == and !=")
		}
		n.literal = name.Normalize(n.literal)
	case (n.op == "~=" || n.op == "===") && !n.variable.versioned():
		return syntax(p.text, at, "`"+n.op+"` compares versions, which `"+string(n.variable)+"` is not")
	}
	return nil
}

func (p *parser) operand() (token, error) {
	t := p.next()
	if t.kind == quoted {
		return t, nil
	}
	if t.kind != word {
		return t, syntax(p.text, t.at, "expected a variable or a quoted text")
	}
	if _, ok := canonical[t.text]; !ok {
		return t, syntax(p.text, t.at, "`"+t.text+"` is no variable of markers")
	}
	return t, nil
}

func (p *parser) operator() (string, error) {
	switch t := p.peek(); {
	case t.kind == operator:
		p.i++
		return t.text, nil
	case p.keyword("in"):
		return "in", nil
	case p.keyword("not"):
		if p.keyword("in") {
			return "not in", nil
		}
		return "", syntax(p.text, p.peek().at, "expected `in` behind `not`")
	default:
		return "", syntax(p.text, t.at, "expected an operator: == != <= >= < > ~= ===, in, not in")
	}
}
