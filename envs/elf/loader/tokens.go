package loader

import (
	"path"
	"strings"
)

// expand replaces $ORIGIN, $LIB and $PLATFORM, with or without braces. What is no
// token stays. origin is the directory of the object whose text it is.
func (s *System) expand(text, origin string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = rest
		token := ""
		for _, t := range []string{"ORIGIN", "PLATFORM", "LIB"} {
			if after, ok := strings.CutPrefix(rest, "{"+t+"}"); ok {
				token, text = t, after
			} else if after, ok := strings.CutPrefix(rest, t); ok && (after == "" || !letter(after[0])) {
				token, text = t, after
			}
		}
		switch token {
		case "ORIGIN":
			out.WriteString(origin)
		case "PLATFORM":
			out.WriteString(s.Platform)
		case "LIB":
			out.WriteString(s.Lib)
		default:
			out.WriteByte('$')
		}
	}
}

func letter(c byte) bool {
	return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// dirs are the directories of a search path. An empty item is the working
// directory.
func (s *System) dirs(list, separators, origin string) (dirs []string) {
	if list == "" {
		return nil
	}
	for {
		item, rest := list, ""
		i := strings.IndexAny(list, separators)
		if i >= 0 {
			item, rest = list[:i], list[i+1:]
		}
		at := s.expand(item, origin)
		if at != "" || item == "" {
			dirs = append(dirs, at)
		}
		if i < 0 {
			return dirs
		}
		list = rest
	}
}

// absolute puts a relative path below the working directory. Nothing else changes:
// a/.. is only gone once a is known to be no link.
func absolute(at, cwd string) string {
	if path.IsAbs(at) {
		return at
	}
	return strings.TrimSuffix(cwd, "/") + "/" + at
}

// dirOf is the directory in a path, with all that may be links left in it.
func dirOf(at string) string {
	i := strings.LastIndexByte(at, '/')
	if i <= 0 {
		return "/"
	}
	return at[:i]
}
