package lockfile

import "strings"

// blockReader reads the part of YAML in which pixi writes locks, several times
// faster than a whole YAML reader: ASCII, one key or item a line, plain or
// simply quoted texts, [] and {}. Whatever it is not sure of it leaves to the
// YAML reader (ok = false), so it must never take a text for something else
// than that would: a fuzz target compares the two.
type blockReader struct {
	text string
	pos  int // of the next line
	line int // its number, counting from 1, once it is in cur

	cur    string // the current line from its first character on
	indent int    // its column
	done   bool   // no current line
	ok     bool

	// stack holds the items of the blocks that are being read, arena what is
	// left of a piece of memory for those that were.
	stack, arena []value
}

func (r *blockReader) push(v value) { r.stack = append(r.stack, v) }

// pop takes the items from start on off the stack.
func (r *blockReader) pop(start int) []value {
	n := len(r.stack) - start
	if n > len(r.arena) {
		r.arena = make([]value, max(n, 4096))
	}
	items := r.arena[:n:n]
	r.arena = r.arena[n:]
	copy(items, r.stack[start:])
	r.stack = r.stack[:start]
	return items
}

// maxDepth of nesting; locks have less than ten levels.
const maxDepth = 64

// readBlock returns the tree of a lock, or false if it is not written as pixi
// does; then nothing is known of it.
func readBlock(data []byte) (value, bool) {
	for _, c := range data {
		if (c < ' ' && c != '\n') || c > '~' {
			return value{}, false
		}
	}
	r := &blockReader{text: string(data), ok: true}
	r.next()
	if r.done || r.indent != 0 {
		return value{}, false
	}
	v := r.block(0, 0)
	if !r.done {
		r.ok = false
	}
	return v, r.ok
}

// next goes to the next line that is neither blank nor a comment.
func (r *blockReader) next() {
	for r.pos < len(r.text) {
		line := r.text[r.pos:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		r.pos += len(line) + 1
		r.line++
		line = strings.TrimRight(line, " ")
		r.cur = strings.TrimLeft(line, " ")
		r.indent = len(line) - len(r.cur)
		if r.cur != "" && r.cur[0] != '#' {
			return
		}
	}
	r.cur, r.indent, r.done = "", -1, true
}

// block reads the list or mapping whose first line is the current one.
func (r *blockReader) block(indent, depth int) value {
	if depth > maxDepth {
		r.ok = false
		return value{}
	}
	if strings.HasPrefix(r.cur, "- ") {
		return r.list(indent, depth)
	}
	return r.mapping(indent, depth)
}

func (r *blockReader) list(indent, depth int) value {
	v := value{kind: list, line: r.line}
	start := len(r.stack)
	for r.ok && r.indent == indent && strings.HasPrefix(r.cur, "- ") {
		item := strings.TrimLeft(r.cur[2:], " ")
		column := indent + len(r.cur) - len(item)
		if _, _, isKey := cutKey(item); isKey {
			// The item is a mapping whose first key stands behind the dash.
			r.cur, r.indent = item, column
			r.push(r.mapping(column, depth+1))
			continue
		}
		r.push(r.scalar(item))
		r.next()
	}
	if r.indent > indent {
		r.ok = false
	}
	v.items = r.pop(start)
	return v
}

func (r *blockReader) mapping(indent, depth int) value {
	v := value{kind: mapping, line: r.line}
	start := len(r.stack)
	for r.ok && r.indent == indent {
		key, rest, isKey := cutKey(r.cur)
		if !isKey {
			r.ok = false
			break
		}
		k := value{kind: scalar, plain: true, line: r.line, text: key}
		if isNull(key) {
			r.ok = false
		}
		if rest != "" {
			r.push(k)
			r.push(r.scalar(rest))
			r.next()
			continue
		}
		empty := value{line: r.line}
		r.next()
		switch {
		case r.indent > indent, r.indent == indent && strings.HasPrefix(r.cur, "- "):
			r.push(k)
			r.push(r.block(r.indent, depth+1))
		default:
			r.push(k)
			r.push(empty)
		}
		if r.ok && r.indent == indent && strings.HasPrefix(r.cur, "- ") {
			break // the next item of the list that this mapping is in
		}
	}
	if r.indent > indent {
		r.ok = false
	}
	v.items = r.pop(start)
	return v
}

// cutKey splits "key: rest" and "key:"; only keys that no YAML rule reads in
// another way are taken for one.
func cutKey(line string) (key, rest string, ok bool) {
	i := 0
	for i < len(line) && (line[i] >= 'a' && line[i] <= 'z' || line[i] >= 'A' && line[i] <= 'Z' || line[i] >= '0' && line[i] <= '9' || line[i] == '_' || line[i] == '-' && i > 0) {
		i++
	}
	switch {
	case i == 0 || i > 200 || i == len(line) || line[i] != ':':
		return "", "", false
	case i+1 == len(line):
		return line[:i], "", true
	case line[i+1] != ' ':
		return "", "", false
	}
	return line[:i], strings.TrimLeft(line[i+1:], " "), true
}

// scalar reads a value that ends with its line.
func (r *blockReader) scalar(text string) value {
	v := value{kind: scalar, line: r.line}
	switch c := text[0]; {
	case text == "[]":
		v.kind, v.items = list, []value{}
	case text == "{}":
		v.kind, v.items = mapping, []value{}
	case c == '"' || c == '\'':
		v.text = text[1:]
		end := strings.IndexByte(v.text, c)
		if end < 0 || end != len(v.text)-1 || c == '"' && strings.IndexByte(v.text, '\\') >= 0 {
			r.ok = false
			return v
		}
		v.text = v.text[:end]
	case !plainStart(c) || strings.HasSuffix(text, ":") || strings.Contains(text, ": ") || strings.Contains(text, " #"):
		r.ok = false
	default:
		v.plain = true
		if isNull(text) {
			return value{plain: true, line: r.line}
		}
		v.text = text
	}
	return v
}

// plainStart: characters that begin a plain text and nothing else.
func plainStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./~<=(+^$;\\", c) >= 0
}
