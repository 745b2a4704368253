package trace

import (
	"errors"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// call is one line of strace: a system call that is over.
type call struct {
	name string
	args []string
	ret  string // what it returned, with what strace says of it
	err  syscall.Errno
}

// errNoCall: the line is about a signal, the end of a process and the like.
var errNoCall = errors.New("no system call")

// parseCall reads `name(arg, …) = ret [ENAME (text)]`.
func parseCall(line string) (call, error) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok || strings.ContainsAny(name, " +-<") {
		return call{}, errNoCall
	}
	c := call{name: name}
	end, args, err := splitArgs(rest)
	if err != nil {
		return call{}, err
	}
	c.args = args
	after, ok := strings.CutPrefix(strings.TrimLeft(rest[end:], " "), "= ")
	if !ok {
		return call{}, errNoCall
	}
	c.ret = after
	if word, text, ok := strings.Cut(after, " "); ok && word == "-1" {
		name, _, _ := strings.Cut(text, " ")
		if c.err, ok = errnos[name]; !ok {
			return call{}, errors.New("unknown error " + strconv.Quote(name))
		}
	}
	return c, nil
}

// errnos are the kernel's errors by name.
var errnos = func() map[string]syscall.Errno {
	m := map[string]syscall.Errno{}
	for e := syscall.Errno(1); e < 256; e++ {
		if name := unix.ErrnoName(e); name != "" {
			m[name] = e
		}
	}
	m["EOPNOTSUPP"] = syscall.EOPNOTSUPP // two names of one
	return m
}()

// splitArgs cuts what follows the opening parenthesis at its commas; end is
// behind the closing one. Commas and parentheses within quotes, brackets and
// what strace says of descriptors (<…>) are part of an argument.
func splitArgs(s string) (end int, args []string, err error) {
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := quoted(s[i:])
			if n < 0 {
				return 0, nil, errors.New("a quote is not closed")
			}
			i += n - 1
		case '<':
			// A descriptor's path has its own < and > escaped; flags are shifted by <<.
			if n := strings.IndexByte(s[i:], '>'); n > 0 && i > 0 && s[i-1] != '<' && !strings.HasPrefix(s[i:], "<<") {
				i += n
			}
		case '/':
			if strings.HasPrefix(s[i:], "/*") {
				if n := strings.Index(s[i:], "*/"); n > 0 {
					i += n + 1
				}
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '(':
			depth++
		case ')':
			if depth == 0 {
				if last := strings.TrimSpace(s[start:i]); last != "" || len(args) > 0 {
					args = append(args, last)
				}
				return i + 1, args, nil
			}
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return 0, nil, errors.New("the arguments do not end")
}

// quoted is the length of the quoted text that s begins with; -1 if it does not end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// text is the value of a quoted argument.
func text(arg string) (string, bool) {
	if len(arg) == 0 || arg[0] != '"' || quoted(arg) != len(arg) {
		return "", false
	}
	return unescape(arg[1 : len(arg)-1])
}

// unescape undoes strace's escapes, which are C's.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if at := strings.IndexByte(`abtnvfr`, s[i]); at >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[at])
			continue
		}
		if s[i] < '0' || s[i] > '7' {
			b.WriteByte(s[i])
			continue
		}
		v, n := 0, 0
		for ; n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7'; n++ {
			v = v*8 + int(s[i+n]-'0')
		}
		b.WriteByte(byte(v))
		i += n - 1
	}
	return b.String(), true
}

// descriptor is a number and the path behind it: `3</lib/x>`.
func descriptor(arg string) (fd, path string) {
	fd, rest, ok := strings.Cut(arg, "<")
	if !ok {
		return arg, ""
	}
	// strace says <path>(deleted) of what is gone.
	end := strings.LastIndexByte(rest, '>')
	if end < 0 {
		return fd, ""
	}
	p, ok := unescape(rest[:end])
	if !ok {
		return fd, ""
	}
	return fd, p
}
