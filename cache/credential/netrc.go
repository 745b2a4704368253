package credential

import (
	"fmt"
	"strings"
)

// readNetrc reads a netrc file: entries `machine HOST login USER password
// PASSWORD` of blank-separated words, quoted where a word has blanks; comments
// from # at a word's start; macros, which end with an empty line, are passed
// over. The first entry of a host counts. An entry `default` is not used: the
// hosts that are asked are those that a lock names, and no password is for
// everybody.
func readNetrc(path, text string) (map[string]Credential, error) {
	out := map[string]Credential{}
	var host, user, password string
	inEntry := false
	finish := func() {
		if _, twice := out[host]; inEntry && host != "" && !twice {
			out[host] = NewBasic(user, password, path)
		}
		host, user, password, inEntry = "", "", "", false
	}
	w := &netrcWords{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	value := func(key string) (string, error) {
		v, ok := w.take(false)
		if !ok {
			return "", fmt.Errorf("%s:%d: %s without a value", path, w.line, key)
		}
		return v, nil
	}
	for {
		at := w.line
		word, ok := w.next()
		if !ok {
			finish()
			return out, nil
		}
		var err error
		switch word {
		case "machine":
			finish()
			inEntry = true
			host, err = value(word)
			host = strings.ToLower(host)
		case "default":
			finish()
			inEntry = true
		case "login":
			user, err = value(word)
		case "password":
			password, err = value(word)
		case "account", "port", "protocol": // the latter two are git's
			_, err = value(word)
		case "macdef":
			finish()
			w.skipMacro()
		default:
			// The word may be a secret that lost its place: it is not shown.
			return nil, fmt.Errorf("%s:%d: want machine, default, login, password, account or macdef; next: check the file, a word with blanks needs quotes", path, max(at, w.wordLine))
		}
		if err != nil {
			return nil, err
		}
	}
}

// netrcWords takes a netrc file apart.
type netrcWords struct {
	text string
	line int
	// wordLine is the line of the word that next returned last.
	wordLine int
}

// next is the next keyword.
func (w *netrcWords) next() (string, bool) { return w.take(true) }

// take takes a word; comments may stand before a keyword, but what follows one is
// its value, also where that begins with #: passwords do.
func (w *netrcWords) take(comments bool) (string, bool) {
	for w.text != "" {
		switch c := w.text[0]; {
		case c == '\n':
			w.line++
			fallthrough
		case c == ' ' || c == '\t' || c == '\r':
			w.text = w.text[1:]
		case c == '#' && comments:
			if i := strings.IndexByte(w.text, '\n'); i >= 0 {
				w.text = w.text[i:]
			} else {
				w.text = ""
			}
		default:
			w.wordLine = w.line
			if c == '"' {
				return w.quoted(), true
			}
			i := strings.IndexAny(w.text, " \t\r\n")
			if i < 0 {
				i = len(w.text)
			}
			word := w.text[:i]
			w.text = w.text[i:]
			return word, true
		}
	}
	return "", false
}

// quoted takes a word in double quotes, with backslashes before what follows.
func (w *netrcWords) quoted() string {
	var b strings.Builder
	for i := 1; i < len(w.text); i++ {
		switch c := w.text[i]; c {
		case '"':
			w.text = w.text[i+1:]
			return b.String()
		case '\\':
			if i+1 < len(w.text) {
				i++
			}
			b.WriteByte(w.text[i])
		default:
			if c == '\n' {
				w.line++
			}
			b.WriteByte(c)
		}
	}
	w.text = ""
	return b.String()
}

// skipMacro passes over a macro: all up to an empty line.
func (w *netrcWords) skipMacro() {
	for w.text != "" {
		line, rest, _ := strings.Cut(w.text, "\n")
		w.text, w.line = rest, w.line+1
		if strings.TrimRight(line, "\r") == "" {
			return
		}
	}
}
