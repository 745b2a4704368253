package activation

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// The form of HPCENV_UNDO: the version, then base64 of a compressed list. Each
// layer is its number of entries, then per entry its kind, 0 or 1 for an old
// value, the name, the old value if any, and the hash (set) or elements and
// separator (prepend, append). Numbers are varints, strings have their length
// before them: values need not be text.

func encodeUndo(r record) (string, error) {
	var data []byte
	str := func(s string) {
		data = binary.AppendUvarint(data, uint64(len(s)))
		data = append(data, s...)
	}
	for _, layer := range [][]entry{r.Common, r.Platform} {
		data = binary.AppendUvarint(data, uint64(len(layer)))
		for _, en := range layer {
			data = append(data, en.Kind)
			if en.Old != nil {
				data = append(data, 1)
			} else {
				data = append(data, 0)
			}
			str(en.Name)
			if en.Old != nil {
				str(*en.Old)
			}
			switch en.Kind {
			case 's':
				data = append(data, en.Hash[:]...)
			case 'p', 'a':
				str(en.Value)
				str(en.Sep)
			}
		}
	}
	var buf bytes.Buffer
	w, err := flate.NewWriterDict(&buf, flate.BestCompression, []byte(undoDict))
	if err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("recording the undo: %w", err)
	}
	out := undoVersion + base64.RawURLEncoding.EncodeToString(buf.Bytes())
	if len(out) > maxUndo || len(data) > maxUndo {
		return "", fmt.Errorf("recording the undo: %d bytes, more than the %d that an environment can carry; the environment's scripts change too many or too large variables", len(data), maxUndo)
	}
	return out, nil
}

func decodeUndo(s string) (record, error) {
	body, ok := strings.CutPrefix(s, undoVersion)
	if !ok {
		return record{}, fmt.Errorf("%w: %s is of another version of hpcenv", ErrUndo, UndoName)
	}
	if len(s) > maxUndo {
		return record{}, fmt.Errorf("%w: %s is too long", ErrUndo, UndoName)
	}
	packed, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrUndo, UndoName, err)
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReaderDict(bytes.NewReader(packed), []byte(undoDict)), maxUndo+1))
	if err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrUndo, UndoName, err)
	}
	if len(data) > maxUndo {
		return record{}, fmt.Errorf("%w: %s is too long", ErrUndo, UndoName)
	}
	d := &undoReader{data: data}
	r := record{Common: d.layer(), Platform: d.layer()}
	if d.bad || len(d.data) != 0 {
		return record{}, fmt.Errorf("%w: %s is damaged", ErrUndo, UndoName)
	}
	return r, nil
}

// undoReader takes a record apart; bad is set at the first thing that cannot
// be.
type undoReader struct {
	data []byte
	bad  bool
}

func (d *undoReader) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.data)) {
		d.bad = true
		return nil
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out
}

func (d *undoReader) number() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.bad = true
		return 0
	}
	d.take(uint64(size))
	return n
}

// str reads a string that an environment can hold.
func (d *undoReader) str() string {
	s := string(d.take(d.number()))
	if strings.ContainsRune(s, 0) {
		d.bad = true
	}
	return s
}

func (d *undoReader) layer() []entry {
	var out []entry
	for n := d.number(); n > 0 && !d.bad; n-- {
		head := d.take(2)
		if d.bad {
			return nil
		}
		en := entry{Kind: head[0], Name: d.str()}
		if en.Name == "" || strings.Contains(en.Name, "=") {
			d.bad = true
		}
		if head[1] == 1 {
			old := d.str()
			en.Old = &old
		}
		switch en.Kind {
		case 's':
			copy(en.Hash[:], d.take(hashLen))
		case 'p', 'a':
			en.Value, en.Sep = d.str(), d.str()
			if en.Sep == "" {
				d.bad = true
			}
		case 'u':
		default:
			d.bad = true
		}
		out = append(out, en)
	}
	return out
}
