package stack

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// placeholder is the build-time prefix in patched files; as long as conda-build
// makes them.
var placeholder = func() string {
	p := "/opt/build/workdir/stack_1700000000000/_h_env"
	for len(p) < 255 {
		p += "_placehold"
	}
	return p[:255]
}()

// content makes a file's bytes: text that compresses about four times, and
// machine code that compresses about two times, as in real packages.
func (s Spec) content(f *file) []byte {
	if f.size == 0 {
		return nil
	}
	rnd := s.random(f.number)
	out := make([]byte, 0, f.size+256)
	switch f.kind {
	case source:
		out = python(rnd, out, f.size)
	case text:
		out = prose(rnd, out, f.size)
	case library:
		out = machine(rnd, out, f.size)
	}
	out = out[:f.size]
	if f.patch {
		writePlaceholders(rnd, out, f.kind == library)
	}
	return out
}

// writePlaceholders puts the placeholder into out, once or twice.
func writePlaceholders(rnd *rand.Rand, out []byte, binary bool) {
	for at := 16; at+len(placeholder)+16 < len(out); at += len(out)/2 + 1 {
		n := copy(out[at:], placeholder)
		tail := "/lib/thing\n"
		if binary {
			tail = "/lib/thing\x00"
		}
		copy(out[at+n:], tail)
	}
}

const letters = "abcdefghijklmnopqrstuvwxyz_0123456789"

// word appends n random letters.
func word(rnd *rand.Rand, out []byte, n int) []byte {
	bits := rnd.Uint64()
	for range n {
		out = append(out, letters[bits%uint64(len(letters))])
		bits /= uint64(len(letters))
	}
	return out
}

// python appends functions until there are at least size bytes, of which the
// first size are a program: the last line is a comment.
func python(rnd *rand.Rand, out []byte, size int) []byte {
	for i := 0; ; i++ {
		at := len(out)
		out = append(out, "def f"...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, "(self, value=None):\n    \"\"\"Return "...)
		out = word(rnd, out, 9)
		out = append(out, ".\"\"\"\n"...)
		for range 3 {
			out = append(out, "    name_"...)
			out = word(rnd, out, 5)
			out = append(out, " = self.call(value, \""...)
			out = word(rnd, out, 7)
			out = append(out, "\", None)\n"...)
		}
		out = append(out, "    return value\n\n"...)
		if len(out) >= size {
			out = out[:at]
			break
		}
	}
	for len(out) < size {
		out = append(out, '#')
		out = word(rnd, out, 12) // no two files are alike
	}
	return out
}

func prose(rnd *rand.Rand, out []byte, size int) []byte {
	for len(out) < size {
		out = append(out, "  { \"name\": \""...)
		out = word(rnd, out, 8)
		out = append(out, "\", \"value\": "...)
		out = strconv.AppendUint(out, uint64(rnd.Uint32()), 10)
		out = append(out, ", \"kind\": \"entry\" },\n"...)
	}
	return out
}

// machine appends 32-byte steps: half a random one, half one of a few.
func machine(rnd *rand.Rand, out []byte, size int) []byte {
	var table [64][16]byte
	for i := range table {
		for j := range table[i] {
			table[i][j] = byte(rnd.Uint32())
		}
	}
	out = append(out, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for len(out) < size {
		bits := rnd.Uint64()
		out = binary.LittleEndian.AppendUint64(out, bits)
		out = append(out, table[bits%64][:]...)
		out = append(out, table[bits>>6%64][:8]...)
	}
	return out
}
