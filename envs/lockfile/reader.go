package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of a lock, real ones stay far below: its bytes, and what can begin a
// value in it, which bounds the memory that its tree takes.
const (
	maxSize   = 64 << 20
	maxValues = 6 << 20
)

// kind tells what a value is.
type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"nothing", "a text", "a list", "a mapping"}[k]
}

// value is one node of a lock's tree.
type value struct {
	kind kind
	// plain: a scalar without quotes, which may be a number or a truth value.
	plain bool
	line  int
	text  string
	// items of a list; of a mapping, keys and values in turn.
	items []value
}

// read turns the bytes of a lock into its tree. A mapping with a key twice, an
// alias and a second document are errors: the first hides one of two answers,
// the other two pixi never writes.
func read(data []byte) (value, error) {
	if len(data) > maxSize {
		return value{}, tooLarge(len(data))
	}
	values := 0
	for _, c := range []string{"\n", ":", ",", "[", "{", "\r"} {
		values += bytes.Count(data, []byte(c))
	}
	if values > maxValues {
		return value{}, fmt.Errorf("%w: it has more than %d values; this hpcenv reads no more", ErrLock, maxValues)
	}
	if v, ok := readBlock(data); ok {
		return v, v.checkAllKeys()
	}
	if err := checkText(data); err != nil {
		return value{}, err
	}
	return readYAML(data)
}

// checkText refuses what is no text: YAML says of it that it is not allowed, but
// not where.
func checkText(data []byte) error {
	line := 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size <= 1:
			return fmt.Errorf("%w: line %d: it is not UTF-8", ErrLock, line)
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return fmt.Errorf("%w: line %d: a control character (%#x) stands there", ErrLock, line, r)
		}
		rest = rest[size:]
	}
	return nil
}

func tooLarge(n int) error {
	return fmt.Errorf("%w: it has %d bytes; this hpcenv reads at most %d", ErrLock, n, maxSize)
}

// readYAML reads whatever YAML there is.
func readYAML(data []byte) (value, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var node yaml.Node
	if err := decoder.Decode(&node); err != nil {
		if errors.Is(err, io.EOF) {
			return value{}, fmt.Errorf("%w: it is empty", ErrLock)
		}
		return value{}, notYAML(data, err)
	}
	var more yaml.Node
	if err := decoder.Decode(&more); err == nil {
		return value{}, fmt.Errorf("%w: line %d: a second YAML document begins; a lock has one", ErrLock, more.Line)
	} else if !errors.Is(err, io.EOF) {
		return value{}, notYAML(data, err)
	}
	if node.Kind != yaml.DocumentNode || len(node.Content) != 1 {
		return value{}, fmt.Errorf("%w: it holds no YAML document", ErrLock)
	}
	return fromNode(node.Content[0])
}

// notYAML says what the YAML reader says; of the most common fault, a tab, it
// names the line before.
func notYAML(data []byte, err error) error {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]; bytes.IndexByte(indent, '\t') >= 0 {
			return fmt.Errorf("%w: it is not YAML: line %d is indented by a tab", ErrLock, line)
		}
	}
	return fmt.Errorf("%w: it is not YAML: %s", ErrLock, strings.TrimPrefix(err.Error(), "yaml: "))
}

func fromNode(node *yaml.Node) (value, error) {
	v := value{line: node.Line}
	switch node.Kind {
	case yaml.ScalarNode:
		v.plain = node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
		if v.plain && isNull(node.Value) {
			return v, nil
		}
		v.kind, v.text = scalar, node.Value
		return v, nil
	case yaml.SequenceNode:
		v.kind = list
	case yaml.MappingNode:
		v.kind = mapping
	default:
		return v, fmt.Errorf("%w: line %d: YAML aliases are not read in a lock", ErrLock, node.Line)
	}
	v.items = make([]value, len(node.Content))
	for i, child := range node.Content {
		item, err := fromNode(child)
		if err != nil {
			return v, err
		}
		v.items[i] = item
	}
	if v.kind == mapping {
		return v, v.checkKeys()
	}
	return v, nil
}

func isNull(text string) bool {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// checkAllKeys is checkKeys for a whole tree.
func (v *value) checkAllKeys() error {
	if v.kind == mapping {
		if err := v.checkKeys(); err != nil {
			return err
		}
	}
	for i := range v.items {
		if v.items[i].items == nil {
			continue
		}
		if err := v.items[i].checkAllKeys(); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses a mapping with a key twice or a key that is no text.
func (v *value) checkKeys() error {
	var seen map[string]int
	if len(v.items) > 32 {
		seen = make(map[string]int, len(v.items)/2)
	}
	for i := 0; i < len(v.items); i += 2 {
		key := &v.items[i]
		if key.kind == scalar && key.plain && key.text == "<<" {
			return fmt.Errorf("%w: line %d: YAML merge keys (<<) are not read in a lock", ErrLock, key.line)
		}
		if key.kind != scalar && !(key.kind == null && key.plain) {
			return fmt.Errorf("%w: line %d: a key is %s", ErrLock, key.line, key.kind)
		}
		first := 0
		if seen != nil {
			first = seen[key.text]
			seen[key.text] = key.line
		} else {
			for j := 0; j < i; j += 2 {
				if v.items[j].text == key.text {
					first = v.items[j].line
				}
			}
		}
		if first != 0 {
			return fmt.Errorf("%w: line %d: the key `%s` is there already, in line %d", ErrLock, key.line, key.text, first)
		}
	}
	return nil
}

// get returns the value of a key of a mapping, nil if it is not there.
func (v *value) get(key string) *value {
	for i := 0; i+1 < len(v.items) && v.kind == mapping; i += 2 {
		if v.items[i].text == key {
			return &v.items[i+1]
		}
	}
	return nil
}

// pairs yields the keys and values of a mapping in the file's order.
func (v *value) pairs(yield func(key, val *value) bool) {
	for i := 0; i+1 < len(v.items); i += 2 {
		if !yield(&v.items[i], &v.items[i+1]) {
			return
		}
	}
}
