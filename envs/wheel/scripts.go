package wheel

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxShebang is the longest first line, with its line feed, that every kernel in
// use reads whole.
const maxShebang = 127

// simple: a kernel reads the interpreter's path from the first line.
func simple(python string) bool {
	return len("#!"+python+"\n") <= maxShebang && !strings.Contains(python, " ")
}

// shebang is what the first line of a script becomes (no line feed at its end).
// Where the kernel could not read the interpreter's path, it is three lines that
// are valid for both sh and Python and run exactly that interpreter.
func shebang(python string) string {
	if simple(python) {
		return "#!" + python
	}
	quoted := "'" + strings.ReplaceAll(python, "'", `'"'"'`) + "'"
	return "#!/bin/sh\n'''exec' " + quoted + " \"$0\" \"$@\"\n' '''"
}

// coding is a line that names a script's encoding (PEP 263).
var coding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)
})

// script is a script of the wheel with its interpreter; rest is what follows its
// first line. Python looks for the script's encoding in two lines only: where
// rest begins with it and the interpreter takes more than one line, the second
// line repeats it, and the path is written in characters of every encoding.
func script(python string, rest []byte) []byte {
	m := coding().FindSubmatch(rest)
	if m == nil || simple(python) {
		return append([]byte(shebang(python)+"\n"), rest...)
	}
	var b bytes.Buffer
	b.WriteString("#!/bin/sh\n# coding: " + string(m[1]) + "\n'''exec' \"$(printf %b")
	for i := range len(python) {
		fmt.Fprintf(&b, ` '\'0%03o`, python[i])
	}
	b.WriteString(")\" \"$0\" \"$@\"\n' '''\n")
	b.Write(rest)
	return b.Bytes()
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
