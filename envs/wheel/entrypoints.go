package wheel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

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
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\-.]+)\s*:\s*([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\-.]+)(?:\s*\[\s*[^,\s][^\[\]]*\])?\s*$`)
})

// ParseEntryPoints reads the commands of entry_points.txt: the groups
// console_scripts and gui_scripts, each sorted by name. A name that is not a plain
// file name, or that of an interpreter, is cache.ErrUnsafe; whatever else is wrong
// in the file is cache.ErrIntegrity.
func ParseEntryPoints(data []byte) (console, gui []EntryPoint, err error) {
	groups, err := parseINI("entry_points.txt", data)
	if err != nil {
		return nil, nil, err
	}
	if console, err = commands(groups, "console_scripts"); err != nil {
		return nil, nil, err
	}
	gui, err = commands(groups, "gui_scripts")
	return console, gui, err
}

// commands are those of a group; what the group DEFAULT has counts for every group
// that is there.
func commands(groups map[string]map[string]string, group string) ([]EntryPoint, error) {
	own, ok := groups[group]
	if !ok {
		return nil, nil
	}
	all := maps.Clone(groups[defaultGroup])
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, own)
	var out []EntryPoint
	for _, key := range slices.Sorted(maps.Keys(all)) {
		m := reference().FindStringSubmatch(all[key])
		if m == nil {
			return nil, fmt.Errorf("entry_points.txt, [%s]: %q = %q is not `command = module:function`: %w",
				group, shorten(key), shorten(all[key]), cache.ErrIntegrity)
		}
		if err := checkCommand(key); err != nil {
			return nil, fmt.Errorf("entry_points.txt, [%s]: %w", group, err)
		}
		out = append(out, EntryPoint{Name: key, Module: m[1], Func: m[2]})
	}
	return out, nil
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

// reserved are the names of interpreters, in lower case.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(pythonw?|python3|graalpy|pypy[23]?|python3\.\d{1,3}t?|pythonw3\.\d{1,3}t)$`)
})

// checkReserved refuses a file of bin/ that would stand where an interpreter is.
func checkReserved(name string) error {
	if reserved().MatchString(strings.TrimSuffix(strings.ToLower(name), ".py")) {
		return fmt.Errorf("bin/%s is the name of an interpreter, which no wheel may replace: %w", shorten(name), cache.ErrUnsafe)
	}
	return nil
}
