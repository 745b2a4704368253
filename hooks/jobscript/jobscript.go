// Package jobscript looks at job scripts before they are submitted: lines that
// would activate, make or install another environment than the one that the job
// is given.
//
// Enters: the arguments of sbatch (Path), the text of a script (Scan). Leaves:
// warnings with line numbers and what to write instead. Nothing is run, nothing
// is refused, and what is not understood is passed over.
//
//	path.go   which argument of sbatch is the script
//	words.go  a script to commands
//	advice.go commands to warnings
package jobscript

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Warning is about one command of a script.
type Warning struct {
	// Line of the script, from 1.
	Line int
	// Command as far as it matters, e.g. "pixi run train".
	Command string
	// Instead is what to write, a phrase.
	Instead string
}

// Text is the warning for a script of a name, on one line.
func (w Warning) Text(script string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?' // a terminal would obey it
		}
		return r
	}, fmt.Sprintf("%s:%d: `%s`: %s", script, w.Line, w.Command, w.Instead))
}

// Scan returns the warnings about a script, in its order, each line and command
// once. isTask tells whether a name is a task of the project; nil = none is.
func Scan(script []byte, isTask func(string) bool) []Warning {
	var out []Warning
	seen := map[Warning]bool{}
	for _, c := range commands(string(script)) {
		w, ok := advise(c.words, isTask)
		if !ok {
			continue
		}
		w.Line = c.line
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}
