package marker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/version"
)

// truth is true, false or not known.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// Evaluate tells whether the marker holds. The error wraps ErrMarker (a
// comparison without meaning) or ErrUnknown; parts that do not matter for the
// result cause no error of the second kind.
func (m *Marker) Evaluate(env *Environment) (bool, error) {
	if m == nil {
		return true, nil
	}
	t, err := m.root.evaluate(env)
	if err != nil {
		return false, err
	}
	if t == unknown {
		return false, fmt.Errorf("%w: %s", ErrUnknown, m)
	}
	return t == yes, nil
}

func (n *node) evaluate(env *Environment) (truth, error) {
	if n.join == "" {
		return n.compare(env)
	}
	result := yes
	if n.join == "or" {
		result = no
	}
	for _, part := range n.parts {
		t, err := part.evaluate(env)
		if err != nil {
			return no, err
		}
		if n.join == "or" {
			result = max(result, t)
		} else {
			result = min(result, t)
		}
	}
	return result, nil
}

func (n *node) compare(env *Environment) (truth, error) {
	switch n.variable {
	case extra:
		// Without any extra, `extra` is the empty text.
		among := slices.Contains(env.Extras, n.literal) || n.literal == "" && len(env.Extras) == 0
		return truthOf(among == (n.op == "==")), nil
	case extras:
		return truthOf(slices.Contains(env.Extras, n.literal) == (n.op == "in")), nil
	case dependencyGroups:
		return truthOf(slices.Contains(env.DependencyGroups, n.literal) == (n.op == "in")), nil
	}
	value, known := env.value(n.variable)
	if !known {
		return unknown, nil
	}
	left, right := value, n.literal
	if n.reversed {
		left, right = right, left
	}
	if n.variable.versioned() {
		if t, ok := asVersions(left, n.op, right); ok {
			return t, nil
		}
	}
	return n.asTexts(left, right)
}

// asVersions compares as PEP 440 does; false if the right side with the
// operator is no clause.
func asVersions(left, op, right string) (truth, bool) {
	s, err := version.ParseSpecifier(op + right)
	if err != nil {
		return no, false
	}
	v, err := version.Parse(left)
	if err != nil {
		// No version satisfies a clause about versions but one: the same text.
		return truthOf(s.Op == version.Identical && strings.EqualFold(left, s.Text)), true
	}
	return truthOf(s.Contains(v)), true
}

// asTexts compares what is no version. Texts have no order: <= and >= hold for
// equal ones only, < and > never.
func (n *node) asTexts(left, right string) (truth, error) {
	switch n.op {
	case "in":
		return truthOf(strings.Contains(right, left)), nil
	case "not in":
		return truthOf(!strings.Contains(right, left)), nil
	case "==", "<=", ">=":
		return truthOf(left == right), nil
	case "!=":
		return truthOf(left != right), nil
	case "<", ">":
		return no, nil
	}
	return no, fmt.Errorf("%w: %s: `%s` needs versions on both sides", ErrMarker, n.text(), n.op)
}
