package archive

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WheelMember is a member of a wheel: a File or a Dir, never another kind. Its
// content can be read at any time, by several goroutines at once.
type WheelMember struct {
	Member
	file *zip.File
}

// OpenWheel lists the members of a wheel of size bytes, in the order of its
// central directory. What is listed is checked as far as it can be without
// unpacking: names, kinds, how members are packed, and that the sizes that they
// declare keep within lim, which Content then holds them to.
func OpenWheel(ctx context.Context, r io.ReaderAt, size int64, lim Limits) ([]WheelMember, error) {
	if err := checkFrame(r, size); err != nil {
		return nil, damaged(ctx, "ZIP", err)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, damaged(ctx, "ZIP directory", err)
	}
	if len(z.File) > lim.MaxEntries {
		return nil, fmt.Errorf("%w: more than %d members", ErrUnsafe, lim.MaxEntries)
	}
	z.RegisterDecompressor(zip.Deflate, inflate)
	left := uint64(lim.MaxBytes)
	out := make([]WheelMember, 0, len(z.File))
	for _, f := range z.File {
		m, err := wheelMember(f, lim)
		if err != nil {
			return nil, err
		}
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("%w: expands to more than %d bytes", ErrUnsafe, lim.MaxBytes)
		}
		left -= f.UncompressedSize64
		if m.Path != "" { // not the root itself
			out = append(out, WheelMember{Member: m, file: f})
		}
	}
	return out, nil
}

// Kinds of files as the upper half of a member's external attributes has them.
// (It is looked at whichever system made the archive, as installers do.)
const (
	modeKind = 0xf000
	modeFile = 0x8000
	modeDir  = 0x4000
	modeLink = 0xa000
)

// encrypted is the flag of a member that needs a password.
const encrypted = 0x1

func wheelMember(f *zip.File, lim Limits) (m Member, err error) {
	if err := checkText(f.Name); err != nil {
		return m, err
	}
	if m.Path, err = CleanPath(f.Name, lim); err != nil {
		return m, err
	}
	mode := f.ExternalAttrs >> 16
	dir := strings.HasSuffix(f.Name, "/")
	switch kind := mode & modeKind; {
	case kind == modeLink:
		return m, fmt.Errorf("%w: member %q is a symbolic link; wheels have none", ErrUnsafe, m.Path)
	case kind == modeDir && !dir, kind == modeFile && dir:
		return m, fmt.Errorf("%w: member %q is a directory by its name or by its mode, but not by both", ErrIntegrity, f.Name)
	case kind != 0 && kind != modeFile && kind != modeDir:
		return m, fmt.Errorf("%w: member %q is a special file (mode %o)", ErrUnsafe, m.Path, mode)
	case f.Flags&encrypted != 0:
		return m, fmt.Errorf("%w: member %q is encrypted", ErrIntegrity, m.Path)
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return m, fmt.Errorf("%w: member %q is packed by method %d; wheels use 0 (stored) and 8 (deflated)", ErrIntegrity, m.Path, f.Method)
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return m, fmt.Errorf("%w: member %q is stored, but its two sizes differ", ErrIntegrity, m.Path)
	case dir && f.UncompressedSize64 != 0:
		return m, fmt.Errorf("%w: member %q is a directory with %d bytes of content", ErrIntegrity, m.Path, f.UncompressedSize64)
	case dir:
		m.Kind = Dir
		return m, nil
	case m.Path == "":
		return m, fmt.Errorf("%w: member name %q is empty", ErrUnsafe, f.Name)
	}
	m.Kind, m.Size = File, int64(f.UncompressedSize64) // OpenWheel looks whether it fits
	m.Exec = mode&0o111 != 0
	return m, nil
}

// checkText refuses names that programs understand differently, and those that
// would confuse whoever reads a list of them.
func checkText(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("%w: member name %q is not UTF-8", ErrIntegrity, shorten(name))
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.C, r) }) {
		return fmt.Errorf("%w: member name %q holds a character that cannot be printed", ErrUnsafe, shorten(name))
	}
	return nil
}

// Content reads a File. It ends with io.EOF after exactly Size bytes whose
// checksum is right; anything else is an ErrIntegrity error. The caller closes it.
func (m *WheelMember) Content(ctx context.Context) (io.ReadCloser, error) {
	in, err := m.file.Open()
	if err != nil {
		return nil, damaged(ctx, fmt.Sprintf("member %q", m.Path), err)
	}
	return &wheelReader{memberReader: memberReader{ctx: ctx, r: in, path: m.Path}, Closer: in}, nil
}

type wheelReader struct {
	memberReader
	io.Closer
}
