package version

// Spec is a constraint on versions. The zero value holds for every version.
type Spec struct {
	text string
	root node
}

// String is the constraint as it was read.
func (s Spec) String() string { return s.text }

// Matches tells whether a version satisfies the constraint.
func (s Spec) Matches(v Version) bool { return s.root == nil || s.root.holds(v) }

// Any tells that every version satisfies the constraint because it names none.
func (s Spec) Any() bool { return s.root == nil || s.root == node(anything{}) }

// node is a part of a constraint.
type node interface{ holds(v Version) bool }

type anything struct{}

func (anything) holds(Version) bool { return true }

// all hold (",").
type all []node

func (a all) holds(v Version) bool {
	for _, n := range a {
		if !n.holds(v) {
			return false
		}
	}
	return true
}

// one of them holds ("|").
type one []node

func (o one) holds(v Version) bool {
	for _, n := range o {
		if n.holds(v) {
			return true
		}
	}
	return false
}

type operator uint8

const (
	equal operator = iota
	notEqual
	above
	atLeast
	below
	atMost
	prefix
	notPrefix
	compatible
	notCompatible
)

// clause is an operator with its version.
type clause struct {
	op      operator
	version Version
}

func (c clause) holds(v Version) bool {
	switch c.op {
	case equal:
		return v.Compare(c.version) == 0
	case notEqual:
		return v.Compare(c.version) != 0
	case above:
		return v.Compare(c.version) > 0
	case atLeast:
		return v.Compare(c.version) >= 0
	case below:
		return v.Compare(c.version) < 0
	case atMost:
		return v.Compare(c.version) <= 0
	case prefix:
		return v.StartsWith(c.version)
	case notPrefix:
		return !v.StartsWith(c.version)
	case compatible:
		return v.CompatibleWith(c.version)
	default:
		return !v.CompatibleWith(c.version)
	}
}
