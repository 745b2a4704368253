package cache

import (
	"bytes"
	"fmt"
	"io"
)

// findPlaceholder returns the offset of every occurrence of e's placeholder in
// e's content, none overlapping the one before it.
func (s *Store) findPlaceholder(e Entry) ([]int64, error) {
	if e.Type != EntryFile {
		return nil, fmt.Errorf("%w: entry %q is a %s and cannot hold a placeholder", ErrIntegrity, e.Path, e.Type)
	}
	f, err := s.OpenEntry(e)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	offsets, err := findAll(f, []byte(e.Placeholder), 1<<20)
	if err != nil {
		return nil, storeError("read", f.Name(), err)
	}
	return offsets, nil
}

// findAll returns the offsets of word in what r yields, left to right, none
// overlapping. It holds about chunk bytes at a time.
func findAll(r io.Reader, word []byte, chunk int) ([]int64, error) {
	var offsets []int64
	buf := make([]byte, 0, chunk+len(word))
	base := int64(0) // of buf[0] in the stream
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return nil, err
		}
		at := 0
		for {
			i := bytes.Index(buf[at:], word)
			if i < 0 {
				break
			}
			offsets = append(offsets, base+int64(at+i))
			at += i + len(word)
		}
		if end {
			return offsets, nil
		}
		// A word may begin in the last bytes; what was matched is not seen again.
		at = max(at, len(buf)-len(word)+1)
		rest := copy(buf, buf[at:])
		base += int64(at)
		buf = buf[:rest]
	}
}
