package cli

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// plain passes text on without what a terminal would obey: names and notes that
// are shown come from other users' locks and packages. Lines stay.
type plain struct{ w io.Writer }

func (p plain) Write(b []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, b)
	if _, err := p.w.Write(clean); err != nil {
		return 0, err
	}
	return len(b), nil
}
