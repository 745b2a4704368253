package version

import "strings"

// Set is clauses that all have to hold; without any, every version satisfies
// it.
type Set []Specifier

// ParseSet reads clauses with commas between them; "" is the empty set. The
// error wraps ErrVersion.
func ParseSet(text string) (Set, error) {
	var set Set
	for clause := range strings.SplitSeq(text, ",") {
		if strings.TrimFunc(clause, blank) == "" {
			continue
		}
		s, err := ParseSpecifier(clause)
		if err != nil {
			return nil, err
		}
		set = append(set, s)
	}
	return set, nil
}

// String is the clauses as written, joined by commas.
func (s Set) String() string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = c.String()
	}
	return strings.Join(parts, ",")
}

// Contains tells whether v satisfies every clause; of pre-releases see
// Specifier.Contains.
func (s Set) Contains(v Version) bool {
	for _, c := range s {
		if !c.Contains(v) {
			return false
		}
	}
	return true
}
