package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Shell is the program, with options, that runs Script.
//
// In POSIX mode bash reads no file of the user's before (BASH_ENV); +B leaves
// {a,b} as it is.
var Shell = []string{"/bin/bash", "--posix", "--noprofile", "--norc", "+B", "-O", "failglob", "-O", "globstar", "-c"}

// Script is the plan as a text for Shell. Each step says what it runs on
// standard error, as pixi does; the first that fails ends it with its exit code.
func (p *Plan) Script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "export INIT_CWD=%s\n", quote(p.initCwd))
	for _, s := range p.Steps {
		if s.Environment != "" {
			b.WriteString(p.elsewhere(s) + " || exit\n")
			continue
		}
		fmt.Fprintf(&b, "(\ncd %s || exit\n", quote(s.Cwd))
		for _, v := range s.Env {
			fmt.Fprintf(&b, "export %s=%s\n", v.Name, doubleQuote(v.Value))
		}
		fmt.Fprintf(&b, "printf 'hpcenv: task %%s: %%s\\n' %s %s >&2\n", quote(s.Task), quote(strings.TrimSpace(s.Shell)))
		b.WriteString(s.Shell + "\n")
		if s.background {
			b.WriteString("__hpcenv=$?; wait; exit $__hpcenv\n")
		}
		b.WriteString(") || exit\n")
	}
	return b.String()
}

// elsewhere is the command that runs one step in its own environment: this
// program again, with a script of that step alone. What the step depends on has
// been run before, once, whichever environment it is in.
func (p *Plan) elsewhere(s Step) string {
	words := append(slices.Clone(p.self), "-e", s.Environment, "-x", "--")
	s.Environment = ""
	words = append(append(words, Shell...), (&Plan{Steps: []Step{s}, initCwd: p.initCwd}).Script())
	for i := range words {
		words[i] = quote(words[i])
	}
	return strings.Join(words, " ")
}

// quote writes a text as one word.
func quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:%,="
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// doubleQuote writes a text as one word in which variables are replaced.
func doubleQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(s) + `"`
}

// word writes one word of a command that is given as a list: variables in it are
// replaced, nothing else means anything.
func word(s string) string {
	if strings.Contains(s, "$") {
		return doubleQuote(s)
	}
	return quote(s)
}

func shellName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// judge looks at a command text outside of quotes: background tells that it
// starts something with a single &; the error says what pixi's shell would read
// in another way than sh.
func judge(text string) (background bool, err error) {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\':
			i++
		case rest[0] == '\'':
			n := strings.IndexByte(rest[1:], '\'')
			if n < 0 {
				return false, errors.New("a quote in its command is never closed")
			}
			i += n + 1
		case rest[0] == '"':
			n := closingQuote(rest)
			if n < 0 {
				return false, errors.New("a quote in its command is never closed")
			}
			i += n
		case strings.HasPrefix(rest, "<<"):
			return false, errors.New("its command has a here-document, which pixi does not know")
		case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "&>"):
			i++
		case rest[0] == '&' && i > 0 && (text[i-1] == '>' || text[i-1] == '<' || text[i-1] == '|'):
		case rest[0] == '&':
			background = true
		}
	}
	return background, nil
}

// closingQuote is where a text that begins with " has its end; -1 = nowhere.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
