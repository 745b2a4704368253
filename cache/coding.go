package cache

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Coding is a text in one of the forms that programs keep paths in.
type Coding struct {
	// Unit is the size of a code unit in bytes, which is also that of the zero
	// that ends a string: 1, 2 or 4.
	Unit  int
	Bytes []byte
}

// Codings are the forms in which a placeholder is looked for and replaced: as it
// is, then UTF-16 and UTF-32, each with the low byte first and then with the high
// one. What is not UTF-8 has only the first.
func Codings(text string) []Coding {
	out := []Coding{{Unit: 1, Bytes: []byte(text)}}
	if !utf8.ValidString(text) {
		return out
	}
	runes := []rune(text)
	short := utf16.Encode(runes)
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := Coding{Unit: 2}
		for _, u := range short {
			c.Bytes = order.AppendUint16(c.Bytes, u)
		}
		out = append(out, c)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		c := Coding{Unit: 4}
		for _, r := range runes {
			c.Bytes = order.AppendUint32(c.Bytes, uint32(r))
		}
		out = append(out, c)
	}
	return out
}
