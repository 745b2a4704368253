package project

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// ErrManifest is the class of errors about a manifest's content; the text names
// file and line.
var ErrManifest = errors.New("project manifest cannot be used")

type kind uint8

const (
	text kind = iota
	boolean
	other // numbers, dates
	array
	table
)

func (k kind) String() string {
	return [...]string{"a text", "true or false", "a number or date", "an array", "a table"}[k]
}

// node is one value of a manifest. Order matters in places (the later of two
// matching targets wins), which maps would lose.
type node struct {
	kind kind
	line int
	text string
	// names of a table's keys, in the file's order.
	names  []string
	fields map[string]*node
	items  []*node // of an array
}

func newTable(line int) *node {
	return &node{kind: table, line: line, fields: map[string]*node{}}
}

// get returns a key of a table; nil if it, or the table, is not there.
func (n *node) get(path ...string) *node {
	for _, name := range path {
		if n == nil || n.kind != table {
			return nil
		}
		n = n.fields[name]
	}
	return n
}

func (n *node) put(name string, value *node) {
	if _, there := n.fields[name]; !there {
		n.names = append(n.names, name)
	}
	n.fields[name] = value
}

// descend returns the table behind a path, made where it is not there yet; of
// an array of tables, the last.
func (n *node) descend(path []string, line int) *node {
	for _, name := range path {
		next := n.fields[name]
		if next == nil {
			next = newTable(line)
			n.put(name, next)
		}
		if next.kind == array && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.kind != table {
			return newTable(line) // refused by parseTOML before it comes to this
		}
		n = next
	}
	return n
}

// reader builds the tree.
type reader struct {
	parser unstable.Parser
	data   []byte
	// offset and line of the last position asked for.
	offset, line int
}

// parseTOML reads a manifest; the error names the line.
func parseTOML(file string, data []byte) (*node, error) {
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			row, column := decode.Position()
			return nil, fmt.Errorf("%w: %s:%d:%d: it is not TOML: %w", ErrManifest, file, row, column, err)
		}
		return nil, fmt.Errorf("%w: %s: it is not TOML: %w", ErrManifest, file, err)
	}
	r := &reader{data: data, line: 1}
	r.parser.Reset(data)
	root := newTable(1)
	current := root
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			path, line := r.key(e)
			current = root.descend(path, line)
		case unstable.ArrayTable:
			path, line := r.key(e)
			parent, last := root.descend(path[:len(path)-1], line), path[len(path)-1]
			list := parent.fields[last]
			if list == nil {
				list = &node{kind: array, line: line}
				parent.put(last, list)
			}
			current = newTable(line)
			list.items = append(list.items, current)
		case unstable.KeyValue:
			r.assign(current, e)
		}
	}
	if err := r.parser.Error(); err != nil {
		return nil, fmt.Errorf("%w: %s: it is not TOML: %w", ErrManifest, file, err)
	}
	return root, nil
}

// key returns the parts of a key and the line of the first.
func (r *reader) key(e *unstable.Node) (path []string, line int) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = r.lineAt(int(n.Raw.Offset))
		}
		path = append(path, string(n.Data))
	}
	return path, line
}

// lineAt counts on from the last position; going back starts anew.
func (r *reader) lineAt(offset int) int {
	if offset < r.offset {
		r.offset, r.line = 0, 1
	}
	r.line += bytes.Count(r.data[r.offset:offset], []byte{'\n'})
	r.offset = offset
	return r.line
}

func (r *reader) assign(into *node, e *unstable.Node) {
	path, line := r.key(e)
	value := r.value(e.Value(), line)
	into.descend(path[:len(path)-1], line).put(path[len(path)-1], value)
}

func (r *reader) value(e *unstable.Node, line int) *node {
	if e.Raw.Offset > 0 {
		line = r.lineAt(int(e.Raw.Offset))
	}
	switch e.Kind {
	case unstable.String:
		return &node{kind: text, line: line, text: string(e.Data)}
	case unstable.Bool:
		return &node{kind: boolean, line: line, text: string(e.Data)}
	case unstable.Array:
		n := &node{kind: array, line: line}
		for it := e.Children(); it.Next(); {
			n.items = append(n.items, r.value(it.Node(), line))
		}
		return n
	case unstable.InlineTable:
		n := newTable(line)
		for it := e.Children(); it.Next(); {
			r.assign(n, it.Node())
		}
		return n
	default:
		return &node{kind: other, line: line, text: string(e.Data)}
	}
}
