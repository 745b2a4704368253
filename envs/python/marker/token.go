package marker

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	end tokenKind = iota
	open
	shut
	quoted
	word     // a variable, and, or, in, not
	operator // one of == and its kin
)

type token struct {
	kind tokenKind
	text string
	at   int // byte offset
}

// operators, the longer before what they begin with.
var operators = []string{"===", "==", "~=", "!=", "<=", ">=", "<", ">"}

// tokens cuts a marker; blanks are spaces and tabs.
func tokens(s string) ([]token, error) {
	var all []token
	for i := 0; i < len(s); {
		t := token{at: i}
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			i++
			continue
		case c == '(':
			t.kind, t.text = open, "("
			i++
		case c == ')':
			t.kind, t.text = shut, ")"
			i++
		case c == '\'' || c == '"':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 {
				return nil, syntax(s, i, "this quote is never closed")
			}
			t.kind, t.text = quoted, s[i+1:i+1+n]
			i += n + 2
			if strings.ContainsAny(t.text, "\\\n\r\x00") {
				return nil, syntax(s, t.at, "a quoted text has neither backslashes nor line breaks")
			}
		case wordByte(c):
			for i < len(s) && (wordByte(s[i]) || s[i] == '.') {
				i++
			}
			t.kind, t.text = word, s[t.at:i]
		default:
			for _, op := range operators {
				if strings.HasPrefix(s[i:], op) {
					t.kind, t.text = operator, op
					i += len(op)
					break
				}
			}
			if t.kind == end {
				return nil, syntax(s, i, "nothing of a marker begins like this")
			}
		}
		all = append(all, t)
	}
	return append(all, token{kind: end, at: len(s)}), nil
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func syntax(s string, at int, why string) error {
	return fmt.Errorf("%w: %.200q, column %d: %s", ErrMarker, s, at+1, why)
}
