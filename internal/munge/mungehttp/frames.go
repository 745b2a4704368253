package mungehttp

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ErrForged is the class of errors about answers that are not the daemon's, or not whole.
var ErrForged = errors.New("the answer is not hpcenvd's")

// writeWithin bounds one write to a client that does not read.
const writeWithin = 30 * time.Second

// Writer is an answer in frames. It is an http.ResponseWriter, and Close ends it; an
// answer that was not closed is none.
type Writer struct {
	w      http.ResponseWriter
	key    []byte
	status int
	seq    uint64
	buf    []byte
	err    error
}

func newWriter(w http.ResponseWriter, key []byte) *Writer { return &Writer{w: w, key: key} }

// Header is the answer's.
func (f *Writer) Header() http.Header { return f.w.Header() }

// WriteHeader begins the answer.
func (f *Writer) WriteHeader(status int) {
	if f.status != 0 {
		return
	}
	f.status = status
	f.w.Header().Set(StatusHeader, strconv.Itoa(status))
	// On the wire the status is OK: others forbid content.
	f.w.WriteHeader(http.StatusOK)
	f.frame(nil, false)
}

// Write adds to the answer.
func (f *Writer) Write(p []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	f.buf = append(f.buf, p...)
	for len(f.buf) >= maxFrame && f.err == nil {
		f.frame(f.buf[:maxFrame], false)
		f.buf = append(f.buf[:0], f.buf[maxFrame:]...)
	}
	return len(p), f.err
}

// FlushError sends what was written.
func (f *Writer) FlushError() error {
	f.WriteHeader(http.StatusOK)
	if len(f.buf) > 0 {
		f.frame(f.buf, false)
		f.buf = f.buf[:0]
	}
	if f.err != nil {
		return f.err
	}
	f.err = http.NewResponseController(f.w).Flush()
	return f.err
}

// Close ends the answer.
func (f *Writer) Close() error {
	f.WriteHeader(http.StatusOK)
	f.frame(f.buf, true)
	f.buf = nil
	return f.err
}

// Unwrap is for http.ResponseController.
func (f *Writer) Unwrap() http.ResponseWriter { return f.w }

func (f *Writer) frame(payload []byte, end bool) {
	if f.err != nil {
		return
	}
	length := uint32(len(payload))
	if end {
		length |= last
	}
	out := binary.BigEndian.AppendUint32(make([]byte, 0, headBytes+len(payload)), length)
	out = append(out, mac(f.key, f.seq, f.status, end, payload)...)
	f.seq++
	if f.err = http.NewResponseController(f.w).SetWriteDeadline(time.Now().Add(writeWithin)); f.err == nil {
		_, f.err = f.w.Write(append(out, payload...))
	}
}

// reader reads an answer in frames and returns only what is the daemon's.
type reader struct {
	r      io.ReadCloser
	key    []byte
	status int
	seq    uint64
	rest   []byte
	err    error
}

// newReader returns once the first frame, and with it the status, was found to be the
// daemon's.
func newReader(r io.ReadCloser, key []byte, status int) (*reader, error) {
	f := &reader{r: r, key: key, status: status}
	f.next()
	if f.err == io.EOF { //nolint:errorlint // next's own
		return f, nil
	}
	return f, f.err
}

// Read reads what frames carry. An answer that ends before its last frame is an error.
func (f *reader) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.next()
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close closes the connection's part.
func (f *reader) Close() error { return f.r.Close() }

// next reads a frame; f.err is io.EOF after the last.
func (f *reader) next() {
	var head [headBytes]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		f.err = fmt.Errorf("it was cut off: %w", err)
		return
	}
	length := binary.BigEndian.Uint32(head[:])
	end := length&last != 0
	if length &^= last; length > maxFrame {
		f.err = fmt.Errorf("%w: a frame of %d bytes", ErrForged, length)
		return
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(f.r, payload); err != nil {
		f.err = fmt.Errorf("it was cut off: %w", err)
		return
	}
	if !hmac.Equal(head[4:], mac(f.key, f.seq, f.status, end, payload)) {
		f.err = fmt.Errorf("%w: it was made without this request's key, or altered", ErrForged)
		return
	}
	f.seq++
	if f.rest = payload; end {
		f.err = io.EOF
	}
}
