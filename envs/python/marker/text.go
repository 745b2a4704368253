package marker

import "strings"

// String is the canonical text: variables by their current names, double quotes
// where the text has none, no parentheses that change nothing. Parsing it gives
// the same marker. "" for nil.
func (m *Marker) String() string {
	if m == nil {
		return ""
	}
	return m.root.text()
}

func (n *node) text() string {
	if n.join == "" {
		literal := `"` + n.literal + `"`
		if strings.Contains(n.literal, `"`) {
			literal = `'` + n.literal + `'`
		}
		if n.reversed {
			return literal + " " + n.op + " " + string(n.variable)
		}
		return string(n.variable) + " " + n.op + " " + literal
	}
	parts := make([]string, len(n.parts))
	for i, p := range n.parts {
		parts[i] = p.text()
		// A chain in a chain was in parentheses, or is an `and` in an `or`.
		if p.join != "" && (n.join == "and" || p.join == "or") {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+n.join+" ")
}
