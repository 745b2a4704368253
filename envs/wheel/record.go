package wheel

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/cache"
)

// Row is a line of RECORD.
type Row struct {
	// Path as it is written there.
	Path string `json:"path"`
	// Hash is "algorithm=digest", the digest in URL-safe base64; "" = none.
	Hash string `json:"hash,omitempty"`
	// Size in bytes; nil = none.
	Size *int64 `json:"size,omitempty"`
}

// ParseRecord reads RECORD: comma-separated, three fields in each line. What
// begins with a slash counts as relative, as some old packages have it; a path
// that leaves the place where the wheel is installed is cache.ErrUnsafe, all
// other faults are cache.ErrIntegrity.
func ParseRecord(data []byte) ([]Row, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("RECORD is not UTF-8: %w", cache.ErrIntegrity)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = 3, true, true
	var rows []Row
	for {
		f, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("RECORD: %w: %w", err, cache.ErrIntegrity)
		}
		line, _ := r.FieldPos(0)
		row := Row{Path: strings.Clone(strings.TrimLeft(f[0], "/")), Hash: strings.Clone(f[1])}
		if c := path.Clean(row.Path); c == ".." || strings.HasPrefix(c, "../") {
			return nil, fmt.Errorf("RECORD, line %d: path %q leaves the place where the wheel is installed: %w", line, shorten(f[0]), cache.ErrUnsafe)
		}
		if strings.ContainsFunc(row.Path, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return nil, fmt.Errorf("RECORD, line %d: path %q holds a control character: %w", line, shorten(f[0]), cache.ErrUnsafe)
		}
		if f[2] != "" {
			n, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("RECORD, line %d: size %q is no number of bytes: %w", line, shorten(f[2]), cache.ErrIntegrity)
			}
			row.Size = &n
		}
		rows = append(rows, row)
	}
}

// EncodeRecord writes RECORD: sorted, a field in quotes only where it must be,
// lines ended by a line feed.
func EncodeRecord(rows []Row) []byte {
	rows = slices.SortedFunc(slices.Values(rows), compareRows)
	var b []byte
	for _, r := range rows {
		b = appendField(b, r.Path)
		b = append(b, ',')
		b = appendField(b, r.Hash)
		b = append(b, ',')
		if r.Size != nil {
			b = strconv.AppendInt(b, *r.Size, 10)
		}
		b = append(b, '\n')
	}
	return b
}

func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// compareRows orders by path, hash and size, nothing before something.
func compareRows(a, b Row) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	if c := strings.Compare(a.Hash, b.Hash); c != 0 {
		return c
	}
	size := func(r Row) int64 {
		if r.Size == nil {
			return -1
		}
		return *r.Size
	}
	switch x, y := size(a), size(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// recordHash is how RECORD writes a sha256, given in hex.
func recordHash(sha string) string {
	raw, err := hex.DecodeString(sha)
	if err != nil {
		panic("wheel: digest " + sha + " is not hex") // manifests are checked when they are read
	}
	return "sha256=" + base64.RawURLEncoding.EncodeToString(raw)
}

// rowOf is the row of a content at a path.
func rowOf(p, sha string, size int64) Row {
	return Row{Path: p, Hash: recordHash(sha), Size: &size}
}
