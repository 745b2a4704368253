package materialize

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// maxShebang is the longest interpreter line that every Linux kernel in use on
// clusters reads, in bytes, counted with the #! and without the line end. Newer
// kernels read 255, but enterprise kernels before 5.1 cut at 127 without a word.
const maxShebang = 127

// maxPrefix is the longest prefix for which #!<prefix>/bin/python3.12 stays
// within maxShebang.
const maxPrefix = 110

// interpreterPattern: blanks after #!, the interpreter's absolute path (a blank
// in it is written with a backslash), the rest of the line.
var interpreterPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#! *(/(?:\\ |[^ \n\r\t])*)(.*)$`) })

var pythonName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^python(\d+(\.\d+)?)?$`) })

// interpreterLine replaces the prefix in the first line of a script (without
// line end). A line that becomes too long for the kernel is replaced, for
// python, by two lines that are valid for both sh and python and run exactly the
// interpreter named; never by env, which would run whichever python is first on
// PATH. For another interpreter there is no such form, so a line that the prefix
// makes too long is an error.
func interpreterLine(line, placeholder, prefix string) (string, error) {
	replaced := strings.ReplaceAll(line, placeholder, prefix)
	if len(replaced) <= maxShebang || !strings.HasPrefix(replaced, "#!") {
		return replaced, nil
	}
	m := interpreterPattern().FindStringSubmatch(replaced)
	if m != nil && pythonName().MatchString(path.Base(m[1])) {
		return trampoline(m[1], m[2]), nil
	}
	if replaced == line {
		return line, nil // the package's own line, whatever the prefix
	}
	return "", fmt.Errorf("first line %q would be %d bytes, kernels read %d; use a prefix root that is %d bytes shorter: %w",
		replaced, len(replaced), maxShebang, len(replaced)-maxShebang, ErrPrefix)
}

// trampoline is an interpreter line for sh whose second line makes sh run
// python; for python the second line is a string without effect.
func trampoline(python, options string) string {
	return "#!/bin/sh\n'''exec' \"" + python + "\"" + options + ` "$0" "$@" #'''`
}
