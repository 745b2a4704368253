// Package plain keeps what people are shown from ruling their terminals.
package plain

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// Writer passes text on to W without what a terminal would obey: names and notes that
// are shown come from other users' locks and packages. Lines stay.
type Writer struct{ W io.Writer }

func (p Writer) Write(b []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, b)
	if _, err := p.W.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}
