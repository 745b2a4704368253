package archive

import (
	"archive/tar"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// Kind of a member.
type Kind int

const (
	// File is a regular file.
	File Kind = iota
	// Link is a symbolic link.
	Link
	// Dir is a directory.
	Dir
	// Same is another name of an earlier regular file (a tar hard link).
	Same
)

// Member is one member of an archive.
type Member struct {
	// Path is clean, relative and never escapes (see CleanPath).
	Path string
	Kind Kind
	// Exec: any executable bit is set.
	Exec bool
	// Size of a File.
	Size int64
	// Target is a Link's text, verbatim, or the clean path that a Same repeats.
	Target string
	// Time is a File's modification time in seconds since 1970; 0 = before that
	// or not given.
	Time int64
}

// Visitor receives a member and, for a File, its content; it need not read all
// of it. An error ends the reading and is returned as it is.
type Visitor func(m Member, content io.Reader) error

// Decompressor returns the plain bytes of in; what it started ends with ctx.
type Decompressor func(ctx context.Context, in io.Reader) io.Reader

// ReadTarBz2 reads a .tar.bz2 of size bytes, of one or several bzip2 streams.
func ReadTarBz2(ctx context.Context, r io.ReaderAt, size int64, lim Limits, visit Visitor) error {
	return ReadTarBz2With(ctx, nil, r, size, lim, visit)
}

// ReadTarBz2With is ReadTarBz2 with a decompressor of the caller's choice, which
// is worth its start on large archives only; nil = the standard library's.
func ReadTarBz2With(ctx context.Context, parallel Decompressor, r io.ReaderAt, size int64, lim Limits, visit Visitor) error {
	in := io.NewSectionReader(r, 0, size)
	var plain io.Reader
	if parallel == nil || size < parallelFrom || runtime.GOMAXPROCS(0) == 1 {
		plain = bzip2.NewReader(in)
	} else {
		// Cancelling ends the decompressor's goroutines also when the tar ends
		// early or is refused.
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		plain = parallel(inner, in)
	}
	count := &counter{bytes: lim.MaxBytes, entries: lim.MaxEntries}
	return readTar(ctx, plain, lim, count, visit)
}

// parallelFrom is the size from which starting several goroutines pays.
const parallelFrom = 1 << 20

// counter is what is left of the limits, over all tars of one archive.
type counter struct {
	bytes   int64
	entries int
}

// readTar reads one tar to the very end of its stream.
func readTar(ctx context.Context, plain io.Reader, lim Limits, left *counter, visit Visitor) error {
	metered := &meter{r: plain, left: &left.bytes, max: lim.MaxBytes}
	tr := tar.NewReader(metered)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		hdr, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return damaged(ctx, "tar header", err)
		}
		if left.entries--; left.entries < 0 {
			return fmt.Errorf("%w: more than %d members", ErrUnsafe, lim.MaxEntries)
		}
		m, skip, err := member(hdr, lim)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		// A sparse member is as long as it says without a byte in the stream.
		if m.Kind == File && m.Size > lim.MaxBytes {
			return fmt.Errorf("%w: member %q alone has %d bytes", ErrUnsafe, m.Path, m.Size)
		}
		content := &memberReader{ctx: ctx, r: tr, path: m.Path}
		if err := visit(m, content); err != nil {
			return err
		}
		if content.err != nil {
			return content.err
		}
		if isSparse(hdr) {
			if left.bytes -= m.Size; left.bytes < 0 {
				return fmt.Errorf("%w: expands to more than %d bytes", ErrUnsafe, lim.MaxBytes)
			}
		}
	}
	return drain(ctx, metered)
}

func isSparse(h *tar.Header) bool {
	return h.Typeflag == tar.TypeGNUSparse || h.PAXRecords["GNU.sparse.major"] != "" ||
		h.PAXRecords["GNU.sparse.map"] != ""
}

// member translates a tar header; skip is true for what names nothing.
func member(h *tar.Header, lim Limits) (m Member, skip bool, err error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return m, true, nil
	}
	if m.Path, err = CleanPath(h.Name, lim); err != nil {
		return m, false, err
	}
	m.Exec = h.Mode&0o111 != 0
	switch h.Typeflag {
	case tar.TypeReg, '\x00', tar.TypeCont, tar.TypeGNUSparse:
		m.Kind, m.Size = File, h.Size
		if !h.ModTime.IsZero() {
			m.Time = max(h.ModTime.Unix(), 0)
		}
	case tar.TypeDir:
		m.Kind, m.Exec = Dir, false
		if m.Path == "" {
			return m, true, nil // the root itself
		}
	case tar.TypeSymlink:
		m.Kind, m.Target, m.Exec = Link, h.Linkname, false
		if err := checkLinkText(m, lim); err != nil {
			return m, false, err
		}
	case tar.TypeLink:
		m.Kind = Same
		if m.Target, err = CleanPath(h.Linkname, lim); err != nil {
			return m, false, fmt.Errorf("hard link %q: %w", m.Path, err)
		}
	default:
		return m, false, fmt.Errorf("%w: member %q is a %s", ErrUnsafe, m.Path, typeName(h.Typeflag))
	}
	if m.Path == "" {
		return m, false, fmt.Errorf("%w: member name %q is empty", ErrUnsafe, h.Name)
	}
	return m, false, nil
}

func checkLinkText(m Member, lim Limits) error {
	switch {
	case m.Target == "":
		return fmt.Errorf("%w: link %q has no text", ErrIntegrity, m.Path)
	case len(m.Target) > lim.MaxLink:
		return fmt.Errorf("%w: link %q has a text longer than %d bytes", ErrUnsafe, m.Path, lim.MaxLink)
	}
	for i := 0; i < len(m.Target); i++ {
		if m.Target[i] == 0 {
			return fmt.Errorf("%w: link %q has a NUL byte in its text", ErrUnsafe, m.Path)
		}
	}
	return nil
}

func typeName(flag byte) string {
	switch flag {
	case tar.TypeChar:
		return "character device"
	case tar.TypeBlock:
		return "block device"
	case tar.TypeFifo:
		return "named pipe"
	}
	return fmt.Sprintf("member of unknown type %q", flag)
}

// memberReader turns damage met while a member is read into ErrIntegrity, and
// remembers it, in case that a Visitor mistakes it for the end.
type memberReader struct {
	ctx  context.Context
	r    io.Reader
	path string
	err  error
}

func (r *memberReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		r.err = damaged(r.ctx, fmt.Sprintf("member %q", r.path), err)
		return n, r.err
	}
	return n, err
}

// drain reads what follows the tar's end: zeros only. It brings the
// decompressor to its own end, where checksums, truncation and trailing
// garbage show.
func drain(ctx context.Context, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return fmt.Errorf("%w: data after the end of the tar", ErrIntegrity)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(ctx, "end of the archive", err)
		}
	}
}

// damaged says what a reading error means: a limit or the caller's own end
// stays what it is, all else is damage.
func damaged(ctx context.Context, where string, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if errors.Is(err, ErrUnsafe) || errors.Is(err, ErrIntegrity) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s: the archive is truncated: %w", ErrIntegrity, where, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrIntegrity, where, err)
}
