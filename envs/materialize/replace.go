package materialize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// errPlaceholder: a recorded offset does not hold the placeholder.
var errPlaceholder = errors.New("the placeholder is not where the manifest says")

// chunk is how much of a file is looked at in one piece, in bytes.
const chunk = 64 << 10

// replaceBinary copies src (size bytes) to dst with placeholder replaced by
// prefix at the given ascending offsets, as is right for binaries: each
// placeholder lies in a string that ends with a NUL (or with the file); what
// follows it in the string moves up and the string's field is filled with NULs.
// The length never changes. prefix must not be longer than placeholder.
func replaceBinary(dst io.Writer, src io.Reader, offsets []int64, placeholder, prefix string) error {
	if len(prefix) > len(placeholder) {
		return fmt.Errorf("prefix of %d bytes does not fit a placeholder of %d bytes: %w", len(prefix), len(placeholder), ErrPrefix)
	}
	s := newReplacer(dst, src, placeholder, prefix)
	for _, off := range offsets {
		if off < s.pos {
			continue // overlaps the occurrence before it
		}
		if err := s.copyTo(off, true); err != nil {
			return err
		}
		if err := s.replace(); err != nil {
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
		if err := s.replace(); err != nil {
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
	pos                 int64 // in src
	owed                int   // NULs that the current string's field still needs
}

func newReplacer(dst io.Writer, src io.Reader, placeholder, prefix string) *replacer {
	return &replacer{dst: dst, src: bufio.NewReaderSize(src, chunk), placeholder: placeholder, prefix: prefix}
}

// replace consumes one placeholder and writes the prefix for it.
func (s *replacer) replace() error {
	got := make([]byte, len(s.placeholder))
	if n, err := io.ReadFull(s.src, got); err != nil || string(got) != s.placeholder {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return fmt.Errorf("at offset %d: %q: %w", s.pos, got[:n], errPlaceholder)
	}
	s.pos += int64(len(got))
	s.owed += len(s.placeholder) - len(s.prefix)
	_, err := io.WriteString(s.dst, s.prefix)
	return err
}

// copyTo copies up to offset end or the end of the file. With pad, what is owed
// is written where the current string ends.
func (s *replacer) copyTo(end int64, pad bool) error {
	for s.pos < end {
		want := int(min(chunk, end-s.pos))
		data, err := s.src.Peek(want)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(data) == 0 {
			if end != math.MaxInt64 {
				return fmt.Errorf("offset %d is behind the end of the file at %d: %w", end, s.pos, errPlaceholder)
			}
			break
		}
		if pad && s.owed > 0 {
			if i := bytes.IndexByte(data, 0); i >= 0 {
				if _, err := s.dst.Write(data[:i]); err != nil {
					return err
				}
				if err := s.fill(); err != nil {
					return err
				}
				data = data[i:]
				if err := s.skip(i); err != nil {
					return err
				}
			}
		}
		if _, err := s.dst.Write(data); err != nil {
			return err
		}
		if err := s.skip(len(data)); err != nil {
			return err
		}
	}
	if pad && end == math.MaxInt64 {
		return s.fill()
	}
	return nil
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
	s.owed = 0
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
