package wheel

import (
	"strconv"
	"strings"
)

// maxShebang is the longest first line, with its line feed, that every kernel in
// use reads whole.
const maxShebang = 127

// shebang is what the first line of a script becomes (no line feed at its end).
// Where the kernel could not read the interpreter's path, it is three lines that
// are valid for both sh and Python and run exactly that interpreter.
func shebang(python string) string {
	if len("#!"+python+"\n") <= maxShebang && !strings.Contains(python, " ") {
		return "#!" + python
	}
	quoted := "'" + strings.ReplaceAll(python, "'", `'"'"'`) + "'"
	return "#!/bin/sh\n'''exec' " + quoted + " \"$0\" \"$@\"\n' '''"
}

// launcher is the text of bin/<name> for an entry point.
func launcher(python string, ep EntryPoint) []byte {
	imported, _, _ := strings.Cut(ep.Func, ".")
	return []byte(strings.Join([]string{
		shebang(python),
		"# -*- coding: utf-8 -*-",
		"import sys",
		"from " + ep.Module + " import " + imported,
		`if __name__ == "__main__":`,
		`    if sys.argv[0].endswith("-script.pyw"):`,
		`        sys.argv[0] = sys.argv[0][:-11]`,
		`    elif sys.argv[0].endswith(".exe"):`,
		`        sys.argv[0] = sys.argv[0][:-4]`,
		"    sys.exit(" + ep.Func + "())",
		"",
	}, "\n"))
}

// console are the commands of console_scripts for a Python. pip names one after the
// Python that it was built with; in its place comes one for this Python.
func (m *Meta) console(python string) []EntryPoint {
	_, minor, _ := strings.Cut(python, ".")
	var out []EntryPoint
	for _, ep := range m.Console {
		if rest, ok := strings.CutPrefix(ep.Name, "pip3."); ok {
			if _, err := strconv.ParseUint(rest, 10, 8); err == nil {
				continue
			}
		}
		out = append(out, ep)
	}
	for _, ep := range out {
		if ep.Name == "pip3" {
			ep.Name = "pip3." + minor
			return append(out, ep)
		}
	}
	return out
}
