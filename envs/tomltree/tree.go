// Package tomltree reads TOML into a tree that keeps the order of keys and the
// line of every value, which messages about lock files and manifests need.
//
// Enters: the bytes of a file. Leaves: a Value, or an error with the line. What
// TOML 1.0 forbids (a key or table given twice, an inline table added to) is
// refused as the TOML library's own decoder refuses it: a fuzz test compares.
//
//	tree.go    the tree
//	parse.go   the file to the tree
//	define.go  what may be given where, and only once
//	depth.go   how deep values are nested
//	decode.go  taking values of wanted kinds out of a tree
package tomltree

import "strconv"

// Kind is what a value is.
type Kind uint8

// The kinds of values.
const (
	String Kind = iota
	Bool
	Integer
	Float
	Date // a date, a time, or both
	Array
	Table
)

// String names the kind with its article, for messages.
func (k Kind) String() string {
	return [...]string{"a text", "true or false", "a whole number", "a number", "a date", "an array", "a table"}[k]
}

// Value is one value of a file.
type Value struct {
	Kind Kind
	// Line of the value, from 1.
	Line int32
	// origin of a table or array: what may still be added to it.
	origin origin
	// Text of a String; of other scalars as the file has it.
	Text string
	// Items of an Array.
	Items []*Value
	// Entries of a Table, in the file's order.
	Entries []Entry
	// index of Entries by key, where they are many.
	index map[string]int
}

// Entry is a key of a table with its value.
type Entry struct {
	Key   string
	Value *Value
}

// many entries are found faster through an index than one by one.
const many = 16

// Get returns the value of a key, or of a key in the table of a key, and so on;
// nil if it, or a table on the way, is not there. v may be nil.
func (v *Value) Get(path ...string) *Value {
	for _, key := range path {
		if v == nil || v.Kind != Table {
			return nil
		}
		v = v.find(key)
	}
	return v
}

func (v *Value) find(key string) *Value {
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.Entries[i].Value
		}
		return nil
	}
	for i := range v.Entries {
		if v.Entries[i].Key == key {
			return v.Entries[i].Value
		}
	}
	return nil
}

// add appends an entry; the key must not be there.
func (v *Value) add(key string, value *Value) {
	v.Entries = append(v.Entries, Entry{key, value})
	if v.index != nil {
		v.index[key] = len(v.Entries) - 1
		return
	}
	if len(v.Entries) == many {
		v.index = make(map[string]int, 2*many)
		for i, e := range v.Entries {
			v.index[e.Key] = i
		}
	}
}

// Int is the value of an Integer; false if it has another kind or exceeds 64
// bits.
func (v *Value) Int() (int64, bool) {
	if v == nil || v.Kind != Integer {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 0, 64)
	return n, err == nil
}
