package elf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	pageSize = 4096
	// maxPages bounds what is read of one file besides CUDA code: 8 MB.
	maxPages = 2048
	// maxString bounds names and search paths in bytes; Linux has paths up to 4096.
	maxString = 1 << 16
)

// view reads a file in pages, each once. It never reads more than its budget.
type view struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	pages map[int64][]byte
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBroken}, args...)...)
}

func (v *view) page(n int64) ([]byte, error) {
	if p, ok := v.pages[n]; ok {
		return p, nil
	}
	if len(v.pages) >= maxPages {
		return nil, broken("its headers are spread over more than %d bytes", maxPages*pageSize)
	}
	p := make([]byte, min(pageSize, v.size-n*pageSize))
	if err := readFull(v.r, p, n*pageSize); err != nil {
		return nil, err
	}
	v.pages[n] = p
	return p, nil
}

// readFull fills p from off on. A file that ends before is broken; other errors are
// the storage's.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return broken("it ends at byte %d", off+int64(n))
	}
	return err
}

// bytes of [off, off+n), which is copied if it spans pages.
func (v *view) bytes(off, n uint64) ([]byte, error) {
	if off > uint64(v.size) || n > uint64(v.size)-off {
		return nil, broken("bytes %d to %d lie beyond its end at %d", off, saturated(off, n), v.size)
	}
	if n > maxPages*pageSize {
		return nil, broken("a table of %d bytes", n)
	}
	first, in := int64(off/pageSize), off%pageSize
	p, err := v.page(first)
	if err != nil {
		return nil, err
	}
	if in+n <= uint64(len(p)) {
		return p[in : in+n], nil
	}
	out := append(make([]byte, 0, n), p[in:]...)
	for next := first + 1; uint64(len(out)) < n; next++ {
		if p, err = v.page(next); err != nil {
			return nil, err
		}
		out = append(out, p[:min(uint64(len(p)), n-uint64(len(out)))]...)
	}
	return out, nil
}

// text is the string that begins at off and ends with a zero byte before limit.
func (v *view) text(off, limit uint64) (string, error) {
	limit = min(limit, uint64(v.size))
	for at := off; at < limit && at-off <= maxString; {
		p, err := v.page(int64(at / pageSize))
		if err != nil {
			return "", err
		}
		in := at % pageSize
		stop := min(uint64(len(p)), in+limit-at)
		for i := in; i < stop; i++ {
			if p[i] == 0 {
				b, err := v.bytes(off, at+i-in-off)
				return string(b), err
			}
		}
		at += stop - in
	}
	return "", broken("the string at %d has no end", off)
}

func saturated(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
