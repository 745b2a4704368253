package version

import (
	"errors"
	"fmt"
	"strings"
)

// ErrVersion is the class of errors about a text that is no conda version or no
// constraint.
var ErrVersion = errors.New("not a conda version")

// partKind orders parts of different kinds, lowest first.
type partKind uint8

const (
	dev    partKind = iota
	bar             // a trailing _ or -
	word            // letters
	number          // digits
	post
)

// part is the smallest piece of a version: digits, or letters.
type part struct {
	kind partKind
	// text of a word in lower case; of a number its digits without leading zeros.
	text string
}

var zero = part{number, "0"}

// segment is what lies between two separators. One that begins with letters has
// a 0 in front, so "1.a" and "1.0a" are the same.
type segment []part

// Version is a version of a conda package. The zero value is not one.
type Version struct {
	text     string
	epoch    string // digits without leading zeros
	segments []segment
	local    []segment
}

// String is the text as it was read.
func (v Version) String() string { return v.text }

// Parse reads a version. The error wraps ErrVersion and quotes the text.
func Parse(text string) (Version, error) {
	v := Version{text: text, epoch: "0"}
	fail := func(why string) (Version, error) {
		return Version{}, fmt.Errorf("%w: %q: %s", ErrVersion, text, why)
	}
	rest := text
	if before, after, ok := strings.Cut(rest, "!"); ok {
		if before == "" || strings.Trim(before, digits) != "" {
			return fail("the epoch before `!` is not a number")
		}
		v.epoch, rest = significant(before), after
	}
	if strings.Contains(rest, "_") && strings.Contains(rest, "-") {
		return fail("it has both _ and -")
	}
	public, local, hasLocal := strings.Cut(rest, "+")
	var why string
	if v.segments, why = segments(public); why != "" {
		return fail(why)
	}
	if hasLocal {
		if v.local, why = segments(local); why != "" {
			return fail(why + " behind `+`")
		}
	}
	return v, nil
}

const digits = "0123456789"

// significant is a number without leading zeros.
func significant(n string) string {
	if n = strings.TrimLeft(n, "0"); n == "" {
		return "0"
	}
	return n
}

// segments reads what "." and one of "_" and "-" separate; why says what was
// wrong, "" = nothing. A _ or - at the very end belongs to the last segment, as
// in OpenSSL's "1.0.1_".
func segments(s string) (out []segment, why string) {
	if s == "" {
		return nil, "it is empty"
	}
	end := strings.TrimRight(s, "_-")
	for piece := range strings.FieldsFuncSeq(end, separator) {
		one, ok := parts(piece)
		if !ok {
			return nil, "a character is neither a letter, a digit nor a separator"
		}
		out = append(out, one)
	}
	if len(out) == 0 || len(out) != strings.Count(end, ".")+strings.Count(end, "_")+strings.Count(end, "-")+1 {
		return nil, "nothing stands between two separators"
	}
	switch len(s) - len(end) {
	case 0:
	case 1:
		last := len(out) - 1
		out[last] = append(out[last], part{kind: bar})
	case 2: // the first separates, the second is a segment
		out = append(out, segment{zero, {kind: bar}})
	default:
		return nil, "more than two _ or - stand at the end"
	}
	return out, ""
}

func separator(r rune) bool { return r == '.' || r == '_' || r == '-' }

// parts splits a segment into digits and letters.
func parts(s string) (segment, bool) {
	var out segment
	for s != "" {
		n := len(s) - len(strings.TrimLeft(s, digits))
		if n > 0 {
			out = append(out, part{number, significant(s[:n])})
			s = s[n:]
			continue
		}
		for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z') {
			n++
		}
		if n == 0 {
			return nil, false
		}
		if len(out) == 0 {
			out = append(out, zero)
		}
		out = append(out, wordPart(strings.ToLower(s[:n])))
		s = s[n:]
	}
	return out, true
}

func wordPart(s string) part {
	switch s {
	case "dev":
		return part{kind: dev}
	case "post":
		return part{kind: post}
	}
	return part{word, s}
}
