package activation

import "strings"

// expand replaces $NAME and ${NAME} in a value as bash does between double
// quotes; a variable that is not set gives nothing. A value without "$" is
// taken as it is (pixi's activation does the same). ok is false if the value
// uses what only a shell can compute (command substitution, ${NAME:-word},
// $?): the value then comes back unchanged.
func expand(value string, get func(string) (string, bool)) (out string, ok bool) {
	if !strings.Contains(value, "$") {
		return value, true
	}
	var b strings.Builder
	for i := 0; i < len(value); {
		c := value[i]
		switch {
		case c == '`':
			return value, false
		case c == '\\' && i+1 < len(value) && strings.IndexByte("$`\\", value[i+1]) >= 0:
			b.WriteByte(value[i+1])
			i += 2
		case c == '$':
			name, n, simple := varRef(value[i:])
			if !simple {
				return value, false
			}
			if name == "" {
				b.WriteByte('$')
			} else {
				v, _ := get(name)
				b.WriteString(v)
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), true
}

// varRef reads a reference at the start of s, which begins with "$". It
// returns the name ("" = a literal "$"), the length read, and whether it is of
// a form that needs no shell.
func varRef(s string) (name string, n int, simple bool) {
	if len(s) == 1 {
		return "", 1, true
	}
	if s[1] == '{' {
		end := strings.IndexByte(s, '}')
		if end < 0 || !validName(s[2:end]) {
			return "", 0, false
		}
		return s[2:end], end + 1, true
	}
	end := 1
	for end < len(s) && nameByte(s[end], end == 1) {
		end++
	}
	if end > 1 {
		return s[1:end], end, true
	}
	if strings.IndexByte("(?$!@*#-0123456789", s[1]) >= 0 {
		return "", 0, false
	}
	return "", 1, true
}

func nameByte(c byte, first bool) bool {
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (!first && c >= '0' && c <= '9')
}

// validName: a name that every shell can assign.
func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !nameByte(s[i], i == 0) {
			return false
		}
	}
	return s != ""
}

// references lists the variables that a value refers to.
func references(value string) []string {
	var names []string
	expand(value, func(n string) (string, bool) {
		names = append(names, n)
		return "", false
	})
	return names
}
