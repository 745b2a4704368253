package materialize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
)

// errPlaceholder: a recorded offset does not hold the placeholder.
var errPlaceholder = errors.New("the placeholder is not where the manifest says")

// chunk is how much of a file is looked at in one piece, in bytes.
const chunk = 64 << 10

// replaceBinary copies src to dst with placeholder replaced by prefix at the
// given ascending offsets, as is right for binaries: each placeholder lies in a
// string that ends with a zero of its coding's width (or with the file); what
// follows it in the string moves up and the string's field is filled with zeros.
// The length never changes. prefix must not be longer than placeholder, unless
// nothing is to be replaced.
func replaceBinary(dst io.Writer, src io.Reader, offsets []int64, placeholder, prefix string) error {
	if len(prefix) > len(placeholder) && len(offsets) > 0 {
		return fmt.Errorf("prefix of %d bytes does not fit a placeholder of %d bytes: %w", len(prefix), len(placeholder), ErrPrefix)
	}
	s := newReplacer(dst, src, placeholder, prefix)
	defer s.close()
	for _, off := range offsets {
		if off < s.pos {
			continue // overlaps the occurrence before it
		}
		if err := s.copyTo(off, true); err != nil {
			return err
		}
		if err := s.replace(true); err != nil {
			return err
		}
	}
	return s.copyTo(math.MaxInt64, true)
}

// replaceText copies src to dst with every occurrence of placeholder, at the
// given ascending offsets, replaced by prefix. The length may change. If the file
// starts with an interpreter line, see interpreterLine.
func replaceText(dst io.Writer, src io.Reader, offsets []int64, placeholder, prefix string) error {
	s := newReplacer(dst, src, placeholder, prefix)
	defer s.close()
	if err := s.shebang(); err != nil {
		return err
	}
	for _, off := range offsets {
		if off < s.pos {
			continue
		}
		if err := s.copyTo(off, false); err != nil {
			return err
		}
		if err := s.replace(false); err != nil {
			return err
		}
	}
	return s.copyTo(math.MaxInt64, false)
}

// replacer is the state of one pass over a file.
type replacer struct {
	dst                 io.Writer
	src                 *bufio.Reader
	placeholder, prefix string
	// old and new are the codings of the two, in the same order, the first
	// excepted; made when the placeholder is met in one of them.
	old, new []cache.Coding
	pos      int64 // in src
	// owed is how many zeros the field of the current string still needs. While
	// there are some, the string ends at a zero of unit bytes, counted from phase.
	owed  int
	unit  int
	phase int64
}

func newReplacer(dst io.Writer, src io.Reader, placeholder, prefix string) *replacer {
	s := &replacer{dst: dst, src: readers.Get().(*bufio.Reader), placeholder: placeholder, prefix: prefix, unit: 1}
	s.src.Reset(src)
	return s
}

// readers are what replacers read through; making one for each small file would
// cost more than the file.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, chunk+4) }}

// close gives back what newReplacer took.
func (s *replacer) close() {
	s.src.Reset(nil)
	readers.Put(s.src)
}

// coding tells which of the placeholder's codings the source goes on with, and
// the prefix in the same one.
func (s *replacer) coding() (old, prefix cache.Coding, err error) {
	plain, err := s.src.Peek(len(s.placeholder))
	if err != nil && !errors.Is(err, io.EOF) {
		return old, prefix, err
	}
	if string(plain) == s.placeholder {
		return cache.Coding{Unit: 1, Bytes: []byte(s.placeholder)}, cache.Coding{Unit: 1, Bytes: []byte(s.prefix)}, nil
	}
	if s.old == nil {
		s.old, s.new = cache.Codings(s.placeholder)[1:], cache.Codings(s.prefix)[1:]
	}
	for i, c := range s.old {
		got, err := s.src.Peek(len(c.Bytes))
		if err != nil && !errors.Is(err, io.EOF) {
			return old, prefix, err
		}
		if bytes.Equal(got, c.Bytes) && i < len(s.new) {
			return c, s.new[i], nil
		}
	}
	return old, prefix, fmt.Errorf("at offset %d: %q: %w", s.pos, plain, errPlaceholder)
}

// replace consumes one placeholder and writes the prefix for it.
func (s *replacer) replace(binary bool) error {
	old, in, err := s.coding()
	if err != nil {
		return err
	}
	prefix := in.Bytes
	if err := s.skip(len(old.Bytes)); err != nil {
		return err
	}
	if binary && len(prefix) > len(old.Bytes) {
		return fmt.Errorf("at offset %d: prefix of %d bytes does not fit a placeholder of %d: %w", s.pos, len(prefix), len(old.Bytes), ErrPrefix)
	}
	if s.owed == 0 {
		s.unit, s.phase = old.Unit, s.pos
	}
	s.owed += len(old.Bytes) - len(prefix)
	_, err = s.dst.Write(prefix)
	return err
}

// copyTo copies up to offset end or the end of the file. With pad, what is owed
// is written where the current string ends.
func (s *replacer) copyTo(end int64, pad bool) error {
	for s.pos < end {
		want := int(min(chunk, end-s.pos))
		// The zero that ends a string may reach beyond end.
		data, err := s.src.Peek(want + s.unit - 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(data) == 0 {
			if end != math.MaxInt64 {
				return fmt.Errorf("offset %d is behind the end of the file at %d: %w", end, s.pos, errPlaceholder)
			}
			break
		}
		n := min(want, len(data))
		if pad && s.owed > 0 {
			if i := s.stringEnd(data); i >= 0 && i < n {
				if _, err := s.dst.Write(data[:i]); err != nil {
					return err
				}
				if err := s.skip(i); err != nil {
					return err
				}
				if err := s.fill(); err != nil {
					return err
				}
				continue
			}
		}
		if _, err := s.dst.Write(data[:n]); err != nil {
			return err
		}
		if err := s.skip(n); err != nil {
			return err
		}
	}
	if !pad || s.owed == 0 {
		return nil
	}
	// The string may end right here, with a zero that the next one begins with.
	data, err := s.src.Peek(s.unit)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if end == math.MaxInt64 || s.stringEnd(data) == 0 {
		return s.fill()
	}
	return nil
}

// stringEnd finds the zero that ends the current string in what comes next; -1
// if it is not there.
func (s *replacer) stringEnd(data []byte) int {
	if s.unit == 1 {
		return bytes.IndexByte(data, 0)
	}
	unit := int64(s.unit)
	for i := int((unit - (s.pos-s.phase)%unit) % unit); i+s.unit <= len(data); i += s.unit {
		if allZero(data[i : i+s.unit]) {
			return i
		}
	}
	return -1
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (s *replacer) skip(n int) error {
	if _, err := s.src.Discard(n); err != nil {
		return err
	}
	s.pos += int64(n)
	return nil
}

// fill writes the NULs that are owed.
func (s *replacer) fill() error {
	_, err := s.dst.Write(make([]byte, s.owed))
	s.owed, s.unit = 0, 1
	return err
}

// shebang handles the first line of a text file, if it is an interpreter line.
func (s *replacer) shebang() error {
	head, err := s.src.Peek(chunk)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasPrefix(head, []byte("#!")) {
		return nil
	}
	end := bytes.IndexByte(head, '\n')
	if end < 0 {
		// No line end: a file that is one line, or no script at all.
		if end = len(head); end == chunk {
			return nil
		}
	}
	line, err := interpreterLine(string(head[:end]), s.placeholder, s.prefix)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(s.dst, line); err != nil {
		return err
	}
	return s.skip(end)
}
