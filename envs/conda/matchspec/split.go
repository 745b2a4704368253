package matchspec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
)

type pair struct{ key, value string }

// cutBrackets takes `[key=value, …]` off the end.
func cutBrackets(s string) (rest string, pairs []pair, err error) {
	for strings.HasSuffix(s, "]") {
		open := openingBracket(s)
		if open < 0 {
			return "", nil, errors.New("a bracket is closed that was never opened")
		}
		inner, err := readPairs(s[open+1 : len(s)-1])
		if err != nil {
			return "", nil, err
		}
		// What stands further right wins, so it is set last.
		pairs = append(inner, pairs...)
		s = strings.TrimRight(s[:open], blanks)
	}
	return s, pairs, nil
}

// openingBracket finds the bracket that the last one closes.
func openingBracket(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']':
			depth++
		case '[':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func readPairs(s string) (out []pair, err error) {
	for s = strings.Trim(s, blanks); s != ""; {
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%q in brackets is not KEY=VALUE", s)
		}
		rest = strings.TrimLeft(rest, blanks)
		end := strings.IndexByte(rest, ',')
		value := ""
		switch {
		case rest != "" && (rest[0] == '\'' || rest[0] == '"'):
			n := strings.IndexByte(rest[1:], rest[0])
			if n < 0 {
				return nil, errors.New("a quote in brackets is never closed")
			}
			value, rest = rest[1:1+n], strings.TrimLeft(rest[n+2:], blanks)
		case strings.HasPrefix(rest, "["):
			n := strings.IndexByte(rest, ']')
			if n < 0 {
				return nil, errors.New("a list in brackets is never closed")
			}
			value, rest = rest[:n+1], strings.TrimLeft(rest[n+1:], blanks)
		case end < 0:
			value, rest = strings.TrimRight(rest, blanks), ""
		default:
			value, rest = strings.TrimRight(rest[:end], blanks), rest[end:]
		}
		out = append(out, pair{strings.Trim(key, blanks), value})
		if rest != "" && rest[0] != ',' {
			return nil, fmt.Errorf("%q in brackets lacks a comma before it", rest)
		}
		s = strings.Trim(strings.TrimPrefix(rest, ","), blanks)
	}
	return out, nil
}

// versionAndBuild reads what follows the name.
func (m *MatchSpec) versionAndBuild(s string) error {
	s = strings.Trim(s, blanks)
	if s == "" {
		return nil
	}
	n, clauses := versionEnd(s)
	text := strings.TrimRight(s[:n], blanks)
	build := strings.Trim(strings.TrimPrefix(strings.TrimLeft(s[n:], blanks), "="), blanks)
	switch {
	case clauses > 1:
	case build != "" && strings.HasPrefix(text, "=") && !strings.HasPrefix(text, "=="):
		// name=1.2=build: with a build, one "=" means exactly this version.
		if !strings.HasSuffix(text, "*") {
			text = "=" + text
		}
	case build == "" && strings.HasPrefix(text, "==") && strings.HasSuffix(text, "*"):
		text = text[1:] // name==1.2.* means what begins so
	}
	var err error
	if m.Version, err = version.ParseSpec(text); err != nil {
		return err
	}
	m.Build, err = ParsePattern(build)
	return err
}

// versionEnd finds where the constraint on the version ends: at a blank or "="
// after a clause that no "," or "|" follows. It also counts the clauses.
func versionEnd(s string) (end, clauses int) {
	i := 0
	skip := func(set string) {
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
		}
	}
	for {
		skip(blanks + "(")
		skip("=!<>~")
		skip(blanks)
		if i < len(s) && s[i] == '*' {
			i++ // what is glued to it is a build
			for strings.HasPrefix(s[i:], ".*") {
				i += 2
			}
		} else {
			for i < len(s) && strings.IndexByte(blanks+",|=()", s[i]) < 0 {
				i++
			}
		}
		clauses++
		end = i
		skip(blanks)
		for i < len(s) && s[i] == ')' {
			i++
			end = i
			skip(blanks)
		}
		if i == len(s) || s[i] != ',' && s[i] != '|' {
			return end, clauses
		}
		i++
	}
}
