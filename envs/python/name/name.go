// Package name knows the names of Python projects, extras and dependency
// groups: which texts are names, and when two are the same.
//
// Enters: a name as somebody wrote it. Leaves: its normalized form (PEP 503,
// PEP 685, PEP 735), by which names are compared. Nothing here does I/O.
package name

import "strings"

// Normalize returns the form by which names are compared: lower case, every run
// of '-', '_' and '.' one '-'. It does not look whether s is a name (Valid).
func Normalize(s string) string {
	if Normalized(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	between := false
	for _, r := range strings.ToLower(s) {
		if r == '-' || r == '_' || r == '.' {
			if !between {
				b.WriteByte('-')
			}
			between = true
			continue
		}
		between = false
		b.WriteRune(r)
	}
	return b.String()
}

// Equal tells whether two names are the same after normalizing them.
func Equal(a, b string) bool { return a == b || Normalize(a) == Normalize(b) }

// Valid tells whether s is a name: ASCII letters and digits, and between them
// '-', '_' and '.'.
func Valid(s string) bool {
	for i := 0; i < len(s); i++ {
		if alnum(s[i]) {
			continue
		}
		inner := s[i] == '-' || s[i] == '_' || s[i] == '.'
		if !inner || i == 0 || i == len(s)-1 {
			return false
		}
	}
	return s != ""
}

// Normalized tells whether s is a valid name that Normalize leaves as it is.
func Normalized(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			continue
		}
		if c != '-' || i == 0 || i == len(s)-1 || s[i-1] == '-' {
			return false
		}
	}
	return s != ""
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
