package cache

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxOffsets bounds the occurrences of placeholders in one package. Each takes room
// in the manifest and in memory and may grow, in each environment, from one byte to
// a whole prefix. Real packages have some ten thousands at most.
const maxOffsets = 1 << 20

// errTooMany: more than maxOffsets.
var errTooMany = errors.New("too many occurrences")

// findPlaceholder returns where e's placeholder is to be replaced in e's content,
// in whatever coding it is there: ascending, none overlapping the one before it.
func (s *Store) findPlaceholder(e Entry) ([]int64, error) {
	if e.Type != EntryFile {
		return nil, fmt.Errorf("%w: entry %q is a %s and cannot hold a placeholder", ErrIntegrity, e.Path, e.Type)
	}
	f, err := s.OpenEntry(e)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	offsets, err := occurrences(f, e.Size, e.Placeholder, e.Binary, 1<<20)
	if errors.Is(err, errTooMany) {
		return nil, fmt.Errorf("%w: %q holds its placeholder %.40q more than %d times", ErrUnsafe, e.Path, e.Placeholder, maxOffsets)
	}
	if err != nil {
		return nil, storeError("read", f.Name(), err)
	}
	return offsets, nil
}

// occurrences looks for a placeholder in content of the given size. Almost no
// file has it in more than one coding.
func occurrences(content io.ReaderAt, size int64, placeholder string, isBinary bool, chunk int) ([]int64, error) {
	// A small file needs no large buffer, which would have to be cleared each time.
	chunk = int(min(int64(chunk), size+1))
	var codings []Coding
	var found [][]int64
	for _, c := range likely(placeholder) {
		at, err := findAll(io.NewSectionReader(content, 0, size), c.gate, chunk)
		if err != nil {
			return nil, err
		}
		if len(at) == 0 {
			continue
		}
		for _, k := range c.codings {
			if len(c.codings) > 1 || len(k.Bytes) != len(c.gate) {
				if at, err = findAll(io.NewSectionReader(content, 0, size), k.Bytes, chunk); err != nil {
					return nil, err
				}
			}
			if len(at) > 0 {
				codings, found = append(codings, k), append(found, at)
			}
		}
	}
	switch {
	case len(codings) == 0:
		return nil, nil
	case len(codings) == 1 && codings[0].Unit == 1:
		return found[0], nil
	case isBinary:
		return inStrings(content, size, codings, found)
	default:
		return leftmost(codings, found), nil
	}
}

// gated are codings that can only be where their gate is.
type gated struct {
	gate    []byte
	codings []Coding
}

// likely groups a placeholder's codings. The two of UTF-16 differ in which end of
// what is between their outer zeros they have a zero at, if the first and the
// last character need one byte; likewise those of UTF-32: so one search tells
// that neither is there.
func likely(placeholder string) []gated {
	all := Codings(placeholder)
	out := []gated{{all[0].Bytes, all[:1]}}
	for i := 1; i+1 < len(all); i += 2 {
		low, unit := all[i], all[i].Unit
		gate := low.Bytes[:len(low.Bytes)-unit+1]
		if bytes.HasSuffix(all[i+1].Bytes, gate) && len(gate) > 0 {
			out = append(out, gated{gate, all[i : i+2]})
		} else {
			out = append(out, gated{low.Bytes, all[i : i+1]}, gated{all[i+1].Bytes, all[i+1 : i+2]})
		}
	}
	return out
}

// leftmost merges what was found in several codings of a text: the earlier
// counts where two overlap, the narrower where both begin at one place.
func leftmost(codings []Coding, found [][]int64) []int64 {
	type match struct{ at, end int64 }
	var all []match
	for i, c := range codings {
		for _, at := range found[i] {
			all = append(all, match{at, at + int64(len(c.Bytes))})
		}
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(a.at, b.at) })
	var out []int64
	end := int64(0)
	for _, m := range all {
		if m.at >= end {
			out, end = append(out, m.at), m.end
		}
	}
	return out
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
			if len(offsets) == maxOffsets {
				return nil, errTooMany
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
