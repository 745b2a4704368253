package editable

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finderName is the module that finds a project's top-level names.
func (p *Project) finderName() string {
	return "_hpcenv_editable_" + strings.ReplaceAll(fileName(p.Name), ".", "_")
}

// finderText is that module. It comes last among the finders: what is installed
// or on sys.path wins, as with an entry at the end of sys.path.
func (p *Project) finderText() string {
	var places []string
	for _, top := range slices.Sorted(maps.Keys(p.Modules)) {
		places = append(places, fmt.Sprintf("    %s: %s,\n", pythonText(top), pythonPath(p.Modules[top])))
	}
	return `"""Finds the modules of a project that is used from its source tree."""
import os
import sys
from importlib.machinery import PathFinder

# The directory that holds each.
PLACES = {
` + strings.Join(places, "") + `}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = PLACES.get(name)
        return None if place is None else PathFinder.find_spec(name, [place])

    @staticmethod
    def invalidate_caches():
        pass


sys.meta_path.append(Finder)
`
}

// pythonText is a text as a Python source writes it: a JSON text is one, except
// that characters beyond 16 bits are two escapes there.
func pythonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("editable: " + err.Error()) // a text always has a JSON form
	}
	return string(b) // Go writes such characters as they are
}

// ascii tells whether a path is plain in every encoding.
func ascii(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return r >= 0x80 }) < 0
}

// pythonPath is the expression of a path in a Python source. Which text Python
// has for a file name depends on the locale, so others than plain ones are given
// as bytes.
func pythonPath(path string) string {
	if ascii(path) {
		return pythonText(path)
	}
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return `os.fsdecode(b"` + b.String() + `")`
}

// pthLine is the line of a .pth file that puts a path on sys.path. Python up to
// 3.12 reads these files in the locale's encoding, and under LC_ALL=C, which job
// scripts like, in ASCII even in its UTF-8 mode.
func pthLine(path string) string {
	if ascii(path) {
		return path
	}
	return "import os, sys; sys.path.append(" + pythonPath(path) + ")"
}
