package tomltree

import "fmt"

// origin says how a table or array came about.
type origin uint8

const (
	// implied: a table that a longer header made ([a.b] makes a); its own header
	// may still come.
	implied origin = iota
	// headed: a table with its own header.
	headed
	// dotted: a table that a dotted key made (a.b = 1 makes a); more dotted keys
	// may add to it.
	dotted
	// closed: an inline table or an array in brackets; nothing may be added.
	closed
	// list: an array of tables ([[a]]).
	list
)

// enter finds, or makes, the table that the first parts of a header lead to.
func enter(t *Value, path []string, line int32) (*Value, error) {
	for _, key := range path {
		next := t.find(key)
		switch {
		case next == nil:
			next = &Value{Kind: Table, Line: line, origin: implied}
			t.add(key, next)
		case next.origin == list:
			next = next.Items[len(next.Items)-1]
		case next.Kind != Table || next.origin == closed:
			return nil, fmt.Errorf("`%s` is %s that is complete already (line %d)", key, next.Kind, next.Line)
		}
		t = next
	}
	return t, nil
}

// header opens the table [path].
func header(root *Value, path []string, line int32) (*Value, error) {
	last := len(path) - 1
	t, err := enter(root, path[:last], line)
	if err != nil {
		return nil, err
	}
	there := t.find(path[last])
	switch {
	case there == nil:
		there = &Value{Kind: Table, Line: line, origin: headed}
		t.add(path[last], there)
	case there.Kind == Table && there.origin == implied:
		there.origin, there.Line = headed, line
	default:
		return nil, fmt.Errorf("`%s` was given already (line %d)", path[last], there.Line)
	}
	return there, nil
}

// arrayHeader begins a new table of the array [[path]].
func arrayHeader(root *Value, path []string, line int32) (*Value, error) {
	last := len(path) - 1
	t, err := enter(root, path[:last], line)
	if err != nil {
		return nil, err
	}
	there := t.find(path[last])
	if there == nil {
		there = &Value{Kind: Array, Line: line, origin: list}
		t.add(path[last], there)
	}
	if there.origin != list {
		return nil, fmt.Errorf("`%s` was given already (line %d)", path[last], there.Line)
	}
	item := &Value{Kind: Table, Line: line, origin: headed}
	there.Items = append(there.Items, item)
	return item, nil
}

// assign gives a key, dotted or not, its value in table t.
func assign(t *Value, path []string, value *Value, line int32) error {
	last := len(path) - 1
	for _, key := range path[:last] {
		next := t.find(key)
		if next == nil {
			next = &Value{Kind: Table, Line: line, origin: dotted}
			t.add(key, next)
		}
		if next.Kind != Table || next.origin != dotted {
			return fmt.Errorf("`%s` was given already (line %d)", key, next.Line)
		}
		t = next
	}
	if there := t.find(path[last]); there != nil {
		return fmt.Errorf("`%s` was given already (line %d)", path[last], there.Line)
	}
	t.add(path[last], value)
	return nil
}
