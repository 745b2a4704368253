package activation

import (
	"errors"
	"fmt"
	"strings"
)

// ErrShell is the class of errors about a shell that cannot be served.
var ErrShell = errors.New("shell not supported")

// Render writes a patch as commands of a shell: bash, zsh, sh (and dash, ksh),
// fish, tcsh (csh). Values arrive exactly as they are. Only names that every
// shell can assign, set and unset, prepend and append without Expand can be
// rendered; anything else is an error.
func Render(shell string, p Patch) (string, error) {
	d, ok := dialects[shell]
	if !ok {
		return "", fmt.Errorf("%w: %q (known: bash, zsh, sh, dash, ksh, fish, tcsh, csh); say --shell bash and source it there", ErrShell, shell)
	}
	var b strings.Builder
	for _, op := range p.Ops {
		if !validName(op.Name) {
			return "", fmt.Errorf("%w: variable %q cannot be assigned in %s", ErrShell, op.Name, shell)
		}
		if op.Expand || strings.ContainsRune(op.Value, 0) {
			return "", fmt.Errorf("%w: variable %s: its value must be computed first", ErrShell, op.Name)
		}
		switch op.Kind {
		case OpSet:
			b.WriteString(d.set(op.Name, d.quote(op.Value)))
		case OpUnset:
			b.WriteString(d.unset(op.Name))
		case OpPrepend, OpAppend:
			b.WriteString(d.list(op.Name, d.quote(op.Value), d.quote(sepOf(op)), op.Kind == OpPrepend))
		default:
			return "", fmt.Errorf("%w: variable %s: unknown operation %q", ErrShell, op.Name, op.Kind)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// dialect is how one family of shells says it; values come quoted.
type dialect struct {
	quote func(string) string
	set   func(name, val string) string
	unset func(name string) string
	list  func(name, val, sep string, front bool) string
}

var dialects = map[string]dialect{
	"bash": posix, "zsh": posix, "sh": posix, "dash": posix, "ksh": posix,
	"fish": fish, "tcsh": csh, "csh": csh,
}

var posix = dialect{
	quote: quotePOSIX,
	set:   func(n, v string) string { return "export " + n + "=" + v },
	unset: func(n string) string { return "unset " + n },
	list: func(n, v, sep string, front bool) string {
		// An assignment neither splits nor globs, which export's arguments do in some shells.
		if front {
			return n + "=" + v + "${" + n + ":+" + sep + "\"$" + n + "\"}; export " + n
		}
		return n + "=${" + n + ":+\"$" + n + "\"" + sep + "}" + v + "; export " + n
	},
}

// quotePOSIX quotes a word for POSIX shells. Single quotes hold everything but
// themselves, newlines included.
func quotePOSIX(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var fish = dialect{
	quote: func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	},
	// PATH-like variables are lists in fish; "string" keeps the value whole
	// where the name is not one, and set splits PATH variables at ":" itself.
	set:   func(n, v string) string { return "set -gx " + n + " " + v + ";" },
	unset: func(n string) string { return "set -e " + n + ";" },
	list: func(n, v, sep string, front bool) string {
		old := `"$` + n + `"`
		joined := v + sep + old
		if !front {
			joined = old + sep + v
		}
		return "if test -n " + old + "; set -gx " + n + " " + joined + "; else; set -gx " + n + " " + v + "; end;"
	},
}

var csh = dialect{
	// Within single quotes csh still takes "!" for history and ends at a
	// newline; a backslash protects both.
	quote: func(s string) string {
		return "'" + strings.NewReplacer("'", `'\''`, "!", `\!`, "\n", "\\\n").Replace(s) + "'"
	},
	set:   func(n, v string) string { return "setenv " + n + " " + v + ";" },
	unset: func(n string) string { return "unsetenv " + n + ";" },
	list: func(n, v, sep string, front bool) string {
		joined := v + sep + `"$` + n + `"`
		if !front {
			joined = `"$` + n + `"` + sep + v
		}
		// One line each: csh has no if/else on a single line.
		return "if ( ! $?" + n + " ) setenv " + n + " ''\n" +
			"if ( \"$" + n + "\" != '' ) setenv " + n + " " + joined + "\n" +
			"if ( \"$" + n + "\" == '' ) setenv " + n + " " + v
	},
}
