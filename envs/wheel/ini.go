package wheel

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/cache"
)

// defaultGroup is the group whose keys every other group has too.
const defaultGroup = "DEFAULT"

// parseINI reads a file of groups of keys and values as Python's configparser does,
// with case, with = alone between key and value: a line that begins with # or ; is
// a comment, one that is indented further than the key before goes on with its
// value (after a line feed), no group and no key may come twice. Errors are of
// class cache.ErrIntegrity and name the line.
func parseINI(file string, data []byte) (map[string]map[string]string, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8: %w", file, cache.ErrIntegrity)
	}
	r := iniReader{groups: map[string]map[string]string{}}
	for n, line := range strings.Split(string(data), "\n") {
		if why := r.line(line); why != "" {
			return nil, fmt.Errorf("%s, line %d: %s: %w", file, n+1, why, cache.ErrIntegrity)
		}
	}
	for _, g := range r.groups {
		for k, v := range g {
			g[k] = strings.TrimRightFunc(v, unicode.IsSpace)
		}
	}
	return r.groups, nil
}

type iniReader struct {
	groups map[string]map[string]string
	// group is the one that lines belong to (nil = none yet), key the last one.
	group  map[string]string
	key    string
	indent int
}

// line takes the next line and says what is wrong with it; "" = nothing.
func (r *iniReader) line(line string) string {
	text := strings.TrimSpace(line)
	if text == "" {
		if r.key != "" {
			r.group[r.key] += "\n"
		}
		return ""
	}
	if text[0] == '#' || text[0] == ';' {
		return ""
	}
	indent := strings.IndexFunc(line, func(c rune) bool { return !unicode.IsSpace(c) })
	if r.key != "" && indent > r.indent {
		r.group[r.key] += "\n" + text
		return ""
	}
	r.indent = indent
	if end := strings.LastIndexByte(text, ']'); text[0] == '[' && end > 1 {
		return r.begin(text[1:end])
	}
	if r.group == nil {
		return fmt.Sprintf("%q comes before any [group]", shorten(text))
	}
	key, value, ok := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return fmt.Sprintf("%q is not `key = value`", shorten(text))
	}
	if _, twice := r.group[key]; twice {
		return fmt.Sprintf("%q is there twice", shorten(key))
	}
	r.key, r.group[key] = key, strings.TrimSpace(value)
	return ""
}

// begin begins a group.
func (r *iniReader) begin(name string) string {
	if r.groups[name] != nil && name != defaultGroup {
		return fmt.Sprintf("the group [%s] is there twice", shorten(name))
	}
	if r.groups[name] == nil {
		r.groups[name] = map[string]string{}
	}
	r.group, r.key = r.groups[name], ""
	return ""
}
