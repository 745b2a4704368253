package wheel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/cache"
)

// EntryPoint is a command that a wheel wants: bin/<Name> imports Module and calls
// Func.
type EntryPoint struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	// Func is a dotted name within Module.
	Func string `json:"func"`
}

// reference is `module:function [extras]`. What it lets through can be written
// into a script as it is: nothing of it ends a line or a statement.
var reference = regexp.MustCompile(
	`^([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\-.]+)\s*:\s*([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\-.]+)(?:\s*\[[^\[\]]+\])?\s*$`)

// ParseEntryPoints reads the commands of entry_points.txt: the groups
// console_scripts and gui_scripts, each sorted by name. It is an INI file with
// case, with = alone between key and value, where # and ; begin comments, at the
// end of a line too. The last of two of one name counts. A name that is not a
// plain file name is cache.ErrUnsafe; other faults of the two groups are
// cache.ErrIntegrity.
func ParseEntryPoints(data []byte) (console, gui []EntryPoint, err error) {
	if !utf8.Valid(data) {
		return nil, nil, fmt.Errorf("entry_points.txt is not UTF-8: %w", cache.ErrIntegrity)
	}
	groups := map[string]map[string]EntryPoint{"console_scripts": {}, "gui_scripts": {}}
	group, keys := "", map[string]EntryPoint(nil)
	for n, line := range strings.Split(string(data), "\n") {
		bad := func(why string) error {
			return fmt.Errorf("entry_points.txt, line %d: %s: %w", n+1, why, cache.ErrIntegrity)
		}
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] == '[' {
			end := strings.LastIndexByte(line, ']')
			if end < 0 {
				return nil, nil, bad(fmt.Sprintf("%q is no group", shorten(line)))
			}
			group = strings.TrimSpace(line[1:end])
			keys = groups[group]
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if ok && key == "" {
			return nil, nil, bad("there is no name before the =")
		}
		if keys == nil {
			continue // a group for other programs
		}
		m := reference.FindStringSubmatch(value)
		if m == nil {
			return nil, nil, bad(fmt.Sprintf("%q is not `command = module:function`", shorten(line)))
		}
		if err := checkCommand(key); err != nil {
			return nil, nil, fmt.Errorf("entry_points.txt, line %d: %w", n+1, err)
		}
		keys[key] = EntryPoint{Name: key, Module: m[1], Func: m[2]}
	}
	return sortedPoints(groups["console_scripts"]), sortedPoints(groups["gui_scripts"]), nil
}

func sortedPoints(m map[string]EntryPoint) []EntryPoint {
	var out []EntryPoint
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// checkCommand refuses the name of a command that is not a plain file name, or is
// that of an interpreter.
func checkCommand(name string) error {
	if name == "." || name == ".." || len(name) > 255 ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }) {
		return fmt.Errorf("the command %q is not a plain file name: %w", shorten(name), cache.ErrUnsafe)
	}
	return checkReserved(name)
}

// reserved are the names of interpreters, without the .py that a script may have.
var reserved = regexp.MustCompile(`^(pythonw?|python3|graalpy|pypy[23]?|python3\.\d{1,3}t?|pythonw3\.\d{1,3}t)$`)

// checkReserved refuses a file of bin/ that would stand where an interpreter is.
func checkReserved(name string) error {
	lower := strings.ToLower(name)
	if reserved.MatchString(strings.TrimSuffix(strings.TrimSuffix(lower, ".exe"), ".py")) {
		return fmt.Errorf("bin/%s is the name of an interpreter, which no wheel may replace: %w", name, cache.ErrUnsafe)
	}
	return nil
}
