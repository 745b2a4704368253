package cache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// errOldManifest: it lacks what is needed now. The package is taken in again.
var errOldManifest = fmt.Errorf("%w: manifest of an older version", ErrIntegrity)

// DecodeManifest reads what Encode wrote. Anything else is an ErrIntegrity error
// that names the line. The manifest keeps data, which must not change any more.
func DecodeManifest(data []byte) (*Manifest, error) {
	first, rest, ok := bytes.Cut(data, []byte{'\n'})
	if !ok {
		return nil, fmt.Errorf("%w: manifest: no line is complete", ErrIntegrity)
	}
	var h header
	dec := json.NewDecoder(bytes.NewReader(first))
	if err := dec.Decode(&h); err != nil {
		return nil, fmt.Errorf("%w: manifest, line 1: %w", ErrIntegrity, err)
	}
	if n := bytes.Count(rest, []byte{'\n'}); h.Lines != n || (n > 0 && rest[len(rest)-1] != '\n') || (n == 0 && len(rest) > 0) {
		return nil, fmt.Errorf("%w: manifest of %s: %d complete lines of entries, header says %d", ErrIntegrity, h.SHA256, n, h.Lines)
	}
	m := &h.Manifest
	if m.Version == 1 {
		return nil, errOldManifest
	}
	if h.Lines > 0 {
		m.Entries = make([]Entry, h.Lines)
	}
	// Entries share one string, which is the data itself: nobody else has it.
	text := unsafe.String(unsafe.SliceData(rest), len(rest))
	for i := range m.Entries {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if err := m.Entries[i].parse(line); err != nil {
			return nil, fmt.Errorf("%w: manifest of %s, line %d: %w", ErrIntegrity, h.SHA256, i+2, err)
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func (e *Entry) parse(line string) error {
	var f [8]string
	for i := range f {
		var more bool
		f[i], line, more = strings.Cut(line, "\t")
		if more != (i < len(f)-1) {
			return fmt.Errorf("there must be %d fields", len(f))
		}
	}
	switch f[0] {
	case "f":
		e.Type = EntryFile
	case "l":
		e.Type = EntryLink
	case "d":
		e.Type = EntryDir
	default:
		return fmt.Errorf("type %q is not known", f[0])
	}
	if err := e.parseFlags(f[1]); err != nil {
		return err
	}
	e.SHA256 = f[2]
	var err error
	if e.Size, err = parseNumber(f[3]); err != nil {
		return err
	}
	if e.Path, err = unescape(f[4]); err != nil {
		return err
	}
	text, err := unescape(f[5])
	if err != nil {
		return err
	}
	if e.Type == EntryFile {
		e.Placeholder = text
	} else {
		e.Target = text
	}
	if err := e.parseOffsets(f[6]); err != nil {
		return err
	}
	e.Time, err = parseNumber(f[7])
	return err
}

func (e *Entry) parseFlags(s string) error {
	if s == "-" {
		return nil
	}
	// Flags come in one order, each once, so that one entry has one line.
	rest := s
	for _, f := range [...]struct {
		c   string
		set *bool
	}{{"x", &e.Exec}, {"n", &e.NoLink}, {"b", &e.Binary}} {
		rest, *f.set = strings.CutPrefix(rest, f.c)
	}
	if rest != "" || s == "" {
		return fmt.Errorf("flags %q are not known", s)
	}
	return nil
}

func (e *Entry) parseOffsets(s string) error {
	if s == "" {
		return nil
	}
	e.Offsets = make([]int64, 0, strings.Count(s, ",")+1)
	for part := range strings.SplitSeq(s, ",") {
		o, err := parseNumber(part)
		if err != nil {
			return err
		}
		e.Offsets = append(e.Offsets, o)
	}
	return nil
}

// parseNumber reads a number in its shortest form, as Encode writes it.
func parseNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, err
	}
	if s[0] == '+' || s[0] == '-' || s[0] == '0' && len(s) > 1 {
		return 0, fmt.Errorf("%q is not a number in its shortest form", s)
	}
	return n, nil
}

func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("text %q ends in a single backslash", s)
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case '\\':
			b.WriteByte('\\')
		default:
			return "", fmt.Errorf("text %q has an unknown escape", s)
		}
	}
	return b.String(), nil
}
