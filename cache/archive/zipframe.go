package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Parts of a ZIP that its frame consists of.
const (
	zipFirst   = "PK\x03\x04" // the header of the first member
	zipEnd     = "PK\x05\x06" // the record that ends the archive
	zipEndSize = 22           // of the record without its comment
	maxComment = 1<<16 - 1
)

// checkFrame refuses a ZIP with anything before its first member or behind its
// end: such a file may be another archive to another reader. (Zeros behind the
// end, which some programs write, are let through.)
func checkFrame(r io.ReaderAt, size int64) error {
	if size < zipEndSize {
		return fmt.Errorf("%w: the ZIP is truncated: it has %d bytes", ErrIntegrity, size)
	}
	head := make([]byte, len(zipFirst))
	if _, err := r.ReadAt(head, 0); err != nil {
		return err
	}
	if string(head) != zipFirst && string(head) != zipEnd {
		return fmt.Errorf("%w: the file does not begin with a ZIP member", ErrIntegrity)
	}
	tail := make([]byte, min(size, zipEndSize+maxComment))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return err
	}
	at := bytes.LastIndex(tail, []byte(zipEnd))
	if at < 0 || len(tail)-at < zipEndSize {
		return fmt.Errorf("%w: the ZIP has no end: it is truncated, or no ZIP", ErrIntegrity)
	}
	rest := tail[at+zipEndSize:]
	n := int(binary.LittleEndian.Uint16(tail[at+zipEndSize-2:]))
	if n > len(rest) {
		return fmt.Errorf("%w: the ZIP is truncated", ErrIntegrity)
	}
	if bytes.ContainsFunc(rest[:n], func(c rune) bool { return c >= 1 && c <= 8 }) {
		return fmt.Errorf("%w: the comment of the ZIP may hold another archive", ErrUnsafe)
	}
	if len(bytes.Trim(rest[n:], "\x00")) > 0 {
		return fmt.Errorf("%w: data after the end of the ZIP", ErrIntegrity)
	}
	return nil
}

// inflaters are used again: making one costs more than a small member.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate is a zip.Decompressor.
func inflate(in io.Reader) io.ReadCloser {
	f := inflaters.Get().(io.ReadCloser)
	if err := f.(flate.Resetter).Reset(in, nil); err != nil {
		return &failedReader{err}
	}
	return &inflater{f: f}
}

type inflater struct{ f io.ReadCloser }

func (i *inflater) Read(p []byte) (int, error) {
	if i.f == nil {
		return 0, io.ErrClosedPipe
	}
	return i.f.Read(p)
}

func (i *inflater) Close() error {
	if i.f == nil {
		return nil
	}
	err := i.f.Close()
	inflaters.Put(i.f)
	i.f = nil
	return err
}

type failedReader struct{ err error }

func (f *failedReader) Read([]byte) (int, error) { return 0, f.err }
func (f *failedReader) Close() error             { return nil }
