package tomltree

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// ErrTOML is the class of errors about bytes that are not TOML; the text names
// the line.
var ErrTOML = errors.New("it is not TOML")

// maxDepth bounds arrays and tables in one another.
const maxDepth = 200

// Parse reads a file. The error wraps ErrTOML.
func Parse(data []byte) (*Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Windows' editors begin files with it
	if n := deepest(data); n > maxDepth {
		return nil, fmt.Errorf("%w: values are nested too deep", ErrTOML)
	}
	r := &reader{data: data, line: 1}
	r.parser.Reset(data)
	root := &Value{Kind: Table, Line: 1, origin: headed}
	current := root
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		var err error
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, line := r.key(e)
			if e.Kind == unstable.Table {
				current, err = header(root, path, line)
			} else {
				current, err = arrayHeader(root, path, line)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrTOML, line, err)
			}
		case unstable.KeyValue:
			if err := r.keyValue(current, e); err != nil {
				return nil, err
			}
		}
	}
	if err := r.parser.Error(); err != nil {
		line := r.line
		var trouble *unstable.ParserError
		if errors.As(err, &trouble) && len(trouble.Highlight) > 0 {
			at := r.parser.Range(trouble.Highlight)
			line = r.lineAt(int(at.Offset))
		}
		return nil, fmt.Errorf("%w: line %d: %w", ErrTOML, line, err)
	}
	return root, nil
}

// reader builds the tree.
type reader struct {
	parser unstable.Parser
	data   []byte
	// offset and line of the last position asked for.
	offset int
	line   int32
}

// key returns the parts of a key and the line of the first.
func (r *reader) key(e *unstable.Node) (path []string, line int32) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = r.lineAt(int(n.Raw.Offset))
		}
		path = append(path, string(n.Data))
	}
	return path, line
}

// lineAt counts on from the last position, forwards or backwards.
func (r *reader) lineAt(offset int) int32 {
	if offset >= r.offset {
		r.line += int32(bytes.Count(r.data[r.offset:offset], []byte{'\n'}))
	} else {
		r.line -= int32(bytes.Count(r.data[offset:r.offset], []byte{'\n'}))
	}
	r.offset = offset
	return r.line
}

func (r *reader) keyValue(into *Value, e *unstable.Node) error {
	path, line := r.key(e)
	value, err := r.value(e.Value(), line)
	if err != nil {
		return err
	}
	if err := assign(into, path, value, line); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrTOML, line, err)
	}
	return nil
}

// value builds a value; line is where it begins at the latest known.
func (r *reader) value(e *unstable.Node, line int32) (*Value, error) {
	if e.Raw.Offset > 0 {
		line = r.lineAt(int(e.Raw.Offset))
	}
	v := &Value{Line: line, Text: string(e.Data)}
	switch e.Kind {
	case unstable.String:
		v.Kind = String
	case unstable.Bool:
		v.Kind = Bool
	case unstable.Integer:
		v.Kind = Integer
	case unstable.Float:
		v.Kind = Float
	case unstable.Array:
		v.Kind, v.origin, v.Text = Array, closed, ""
		for it := e.Children(); it.Next(); {
			item, err := r.value(it.Node(), line)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	case unstable.InlineTable:
		v.Kind, v.origin, v.Text = Table, closed, ""
		for it := e.Children(); it.Next(); {
			if err := r.keyValue(v, it.Node()); err != nil {
				return nil, err
			}
		}
		return v, nil
	default:
		v.Kind = Date
	}
	return v, r.check(v)
}

// check reads numbers and dates with the library's decoder: its parser leaves
// them unchecked.
func (r *reader) check(v *Value) error {
	if v.Kind == String || v.Kind == Bool || v.Kind == Integer && plain(v.Text) {
		return nil
	}
	var into map[string]any
	if err := toml.Unmarshal([]byte("v="+v.Text), &into); err != nil {
		return fmt.Errorf("%w: line %d: `%s`: %w", ErrTOML, v.Line, v.Text, err)
	}
	return nil
}

// plain digits need no closer look.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) < 18 && (s[0] != '0' || len(s) == 1)
}
