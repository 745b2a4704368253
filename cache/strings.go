package cache

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"
)

// textSpan is a string of a binary, from its first placeholder to its end.
type textSpan struct {
	rank    int
	offsets []int64
	end     int64
}

// inStrings chooses, in a binary that has the placeholder in wide characters, the
// occurrences to replace. Each lies in a string that goes on to a zero of its own
// width, and what one coding takes for a string may overlap another's: that of
// UTF-16 with the high byte first is the other one, a byte further on. Of strings
// that overlap one is kept, by rank: the narrow one, then one that begins at a
// multiple of its width (as compilers place them), then one that ends before the
// file does, then the earlier. So does rattler. It is given at least one coding.
func inStrings(content io.ReaderAt, size int64, codings []Coding, found [][]int64) ([]int64, error) {
	var spans []textSpan
	for i, c := range codings {
		more, err := spansOf(content, size, c, found[i])
		if err != nil {
			return nil, err
		}
		spans = append(spans, more...)
	}
	slices.SortStableFunc(spans, func(a, b textSpan) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.offsets[0], b.offsets[0]))
	})
	var kept []textSpan // sorted by place, disjoint
	for _, s := range spans {
		i, _ := slices.BinarySearchFunc(kept, s.offsets[0], func(k textSpan, at int64) int { return cmp.Compare(k.offsets[0], at) })
		if (i == 0 || kept[i-1].end <= s.offsets[0]) && (i == len(kept) || kept[i].offsets[0] >= s.end) {
			kept = slices.Insert(kept, i, s)
		}
	}
	var out []int64
	for _, s := range kept {
		out = append(out, s.offsets...)
	}
	return out, nil
}

// spansOf groups the occurrences of one coding by the string that they are in.
func spansOf(content io.ReaderAt, size int64, c Coding, offsets []int64) ([]textSpan, error) {
	var out []textSpan
	unit := int64(c.Unit)
	covered := make([]int64, unit) // by alignment: the end of the last string
	for i, first := range offsets {
		align := first % unit
		if first < covered[align] {
			continue
		}
		end, ended, err := zeroUnit(content, first+int64(len(c.Bytes)), size, c.Unit)
		if err != nil {
			return nil, err
		}
		s := textSpan{end: end}
		for _, at := range offsets[i:] {
			if at+int64(len(c.Bytes)) > end {
				break
			}
			s.offsets = append(s.offsets, at)
		}
		switch {
		case unit == 1:
		case align == 0 && ended:
			s.rank = 1
		case align == 0:
			s.rank = 2
		case ended:
			s.rank = 3
		default:
			s.rank = 4
		}
		covered[align] = end
		out = append(out, s)
	}
	return out, nil
}

// zeroUnit finds the first zero of a width at from or a multiple of that width
// behind it; the end of the content, and false, if there is none.
func zeroUnit(content io.ReaderAt, from, size int64, unit int) (int64, bool, error) {
	r := bufio.NewReader(io.NewSectionReader(content, from, size-from))
	var buf [4]byte
	for at := from; ; at += int64(unit) {
		if _, err := io.ReadFull(r, buf[:unit]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return size, false, nil
		} else if err != nil {
			return 0, false, err
		}
		if [4]byte{} == buf { // what is beyond the unit stays zero
			return at, true, nil
		}
	}
}
