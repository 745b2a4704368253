package standalone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// built is where python-build-standalone installs what it packs.
const built = "/install"

// builtShebang is how scripts begin whose interpreter line names that place.
const builtShebang = "#!" + built + "/"

// errForm: a text is not of the form that is known.
var errForm = errors.New("its form is not known")

// shebangEdits change the first line of a script.
func shebangEdits([]byte) ([]Edit, error) {
	return []Edit{{At: 2, Len: int64(len(built)), Prefix: true}}, nil
}

// pkgconfigEdits make a variable that names the place of the build relative to the
// file's own, which is lib/pkgconfig.
func pkgconfigEdits(data []byte) ([]Edit, error) {
	var out []Edit
	at := 0
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte("="))
		if ok && isWord(key) && string(value) == built {
			out = append(out, Edit{At: int64(at + len(key) + 1), Len: int64(len(built)), Text: "${pcfiledir}/../.."})
		}
		at += len(line)
	}
	return out, nil
}

func isWord(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return len(b) > 0
}

// Apply copies src to dst with the edits made for a prefix. An edit that lies behind
// the end, or before the one before it, is an error.
func Apply(dst io.Writer, src io.Reader, edits []Edit, prefix string) error {
	var pos int64
	for _, e := range edits {
		if e.At < pos || e.Len < 0 {
			return fmt.Errorf("the edit at offset %d reaches back behind %d", e.At, pos)
		}
		if _, err := io.CopyN(dst, src, e.At-pos); err != nil {
			return fmt.Errorf("before the edit at offset %d: %w", e.At, noEOF(err))
		}
		if _, err := io.CopyN(io.Discard, src, e.Len); err != nil {
			return fmt.Errorf("at the edit at offset %d: %w", e.At, noEOF(err))
		}
		text := e.Text
		if e.Prefix {
			text = prefix + text
		}
		if _, err := io.WriteString(dst, text); err != nil {
			return err
		}
		pos = e.At + e.Len
	}
	_, err := io.Copy(dst, src)
	return err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
