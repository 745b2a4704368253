package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/cache/archive"
)

// manifestVersion is the version of the manifest format that is written.
//
// Version 1 had no times, and offsets of placeholders in single bytes only. Its manifests count as absent, so that their packages
// are taken in again.
const manifestVersion = 2

// header is the first line of a manifest. Lines counts the entries, so that a
// short file shows.
type header struct {
	Manifest
	Lines int `json:"entries"`
}

// Encode returns the bytes of m as the store keeps them. One line per entry has
// eight fields, separated by tabs: type (f, l, d), flags (x executable, n copy,
// b binary; - none), sha256, size, path, a link's text or a file's placeholder,
// offsets separated by commas, time. Tab, newline and backslash in the text fields
// are written \t, \n and \\.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Manifest: *m, Lines: len(m.Entries)}); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", m.SHA256, err)
	}
	line := make([]byte, 0, 512)
	for i := range m.Entries {
		line = appendEntry(line[:0], &m.Entries[i])
		out.Write(line)
	}
	return out.Bytes(), nil
}

func appendEntry(b []byte, e *Entry) []byte {
	text := e.Target
	switch e.Type {
	case EntryFile:
		b, text = append(b, 'f'), e.Placeholder
	case EntryLink:
		b = append(b, 'l')
	default:
		b = append(b, 'd')
	}
	b = append(b, '\t')
	flags := len(b)
	for _, f := range [...]struct {
		set bool
		c   byte
	}{{e.Exec, 'x'}, {e.NoLink, 'n'}, {e.Binary, 'b'}} {
		if f.set {
			b = append(b, f.c)
		}
	}
	if len(b) == flags {
		b = append(b, '-')
	}
	b = append(b, '\t')
	b = append(b, e.SHA256...)
	b = append(b, '\t')
	b = strconv.AppendInt(b, e.Size, 10)
	b = append(b, '\t')
	b = appendEscaped(b, e.Path)
	b = append(b, '\t')
	b = appendEscaped(b, text)
	b = append(b, '\t')
	for i, o := range e.Offsets {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, o, 10)
	}
	b = append(b, '\t')
	b = strconv.AppendInt(b, e.Time, 10)
	return append(b, '\n')
}

func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\\':
			b = append(b, '\\', '\\')
		default:
			b = append(b, s[i])
		}
	}
	return b
}

// check says whether m keeps the rules that readers rely on.
func (m *Manifest) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: manifest of %s: %s", ErrIntegrity, m.SHA256, fmt.Sprintf(format, args...))
	}
	if m.Version != manifestVersion {
		return bad("format version %d is not known, only %d is", m.Version, manifestVersion)
	}
	if !isDigest(m.SHA256) {
		return bad("the package's sha256 is not 64 hex digits")
	}
	lim := archive.LimitsFor(0)
	for i := range m.Entries {
		e := &m.Entries[i]
		if i > 0 && m.Entries[i-1].Path >= e.Path {
			return bad("entry %q is out of order", e.Path)
		}
		if clean, err := archive.CleanPath(e.Path, lim); err != nil || clean != e.Path || clean == "" {
			return bad("entry name %q is not allowed", e.Path)
		}
		if err := e.check(); err != nil {
			return bad("entry %q: %v", e.Path, err)
		}
	}
	for i, at := range m.ELF {
		if at < 0 || at >= len(m.Entries) || i > 0 && at <= m.ELF[i-1] || m.Entries[at].Type != EntryFile {
			return bad("entry %d cannot be an ELF file", at)
		}
	}
	return nil
}

func (e *Entry) check() error {
	switch e.Type {
	case EntryFile:
		if !isDigest(e.SHA256) || e.Size < 0 || e.Time < 0 || e.Target != "" {
			return errors.New("a file needs sha256 and size, and has no link text")
		}
		if (e.Size == 0) != (e.SHA256 == emptySHA256) {
			return fmt.Errorf("size %d does not go with sha256 %s", e.Size, e.SHA256)
		}
		last := int64(-1)
		for _, o := range e.Offsets {
			if o <= last || o > e.Size-int64(len(e.Placeholder)) || e.Placeholder == "" {
				return fmt.Errorf("placeholder offset %d is not possible", o)
			}
			last = o
		}
		return nil
	case EntryLink:
		if e.Target == "" || strings.IndexByte(e.Target, 0) >= 0 {
			return fmt.Errorf("link text %q is not possible", e.Target)
		}
	case EntryDir:
		if e.Target != "" {
			return errors.New("a directory has no link text")
		}
	default:
		return fmt.Errorf("type %q is not known", e.Type)
	}
	if e.SHA256 != "" || e.Size != 0 || e.Placeholder != "" || e.Offsets != nil || e.Time != 0 {
		return errors.New("only a file has content")
	}
	return nil
}

func isDigest(s string) bool { return isHex(s, 64) }

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
