package tomltree

import "fmt"

// Decoder takes values of wanted kinds out of a tree and remembers the first
// that has another: Err is to be looked at when all is taken. The zero value is
// ready.
type Decoder struct {
	// Err names line and key; nil = nothing was wrong so far.
	Err error
}

// Failf remembers an error about a line, unless there is one already.
func (d *Decoder) Failf(line int32, format string, args ...any) {
	if d.Err == nil {
		d.Err = fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
	}
}

// get returns a key of a table if it has the kind; nil where it is not there or
// not of the kind.
func (d *Decoder) get(table *Value, key string, kind Kind) *Value {
	v := table.Get(key)
	if v != nil && v.Kind != kind {
		d.Failf(v.Line, "`%s` must be %s, it is %s", key, kind, v.Kind)
		return nil
	}
	return v
}

// Text returns a key that is a text; "" if it is not there.
func (d *Decoder) Text(table *Value, key string) string {
	if v := d.get(table, key, String); v != nil {
		return v.Text
	}
	return ""
}

// Required is Text of a key that must be there and must not be empty.
func (d *Decoder) Required(table *Value, key string) string {
	text := d.Text(table, key)
	if text == "" {
		d.Failf(table.Line, "`%s` is missing", key)
	}
	return text
}

// Bool returns a key that is true or false; false if it is not there.
func (d *Decoder) Bool(table *Value, key string) bool {
	v := d.get(table, key, Bool)
	return v != nil && v.Text == "true"
}

// Size returns a key that is a whole number from 0 on; 0 if it is not there.
func (d *Decoder) Size(table *Value, key string) int64 {
	v := d.get(table, key, Integer)
	if v == nil {
		return 0
	}
	n, ok := v.Int()
	if !ok || n < 0 {
		d.Failf(v.Line, "`%s` must be a whole number from 0 on, it is `%s`", key, v.Text)
		return 0
	}
	return n
}

// Table returns a key that is a table; nil if it is not there.
func (d *Decoder) Table(table *Value, key string) *Value { return d.get(table, key, Table) }

// Items returns the items of a key that is an array, each of one kind; nil if it
// is not there.
func (d *Decoder) Items(table *Value, key string, kind Kind) []*Value {
	list := d.get(table, key, Array)
	if list == nil {
		return nil
	}
	for _, item := range list.Items {
		if item.Kind != kind {
			d.Failf(item.Line, "`%s` must hold %s each, here is %s", key, kind, item.Kind)
			return nil
		}
	}
	return list.Items
}

// Texts returns the texts of a key that is an array of them; nil if it is not
// there.
func (d *Decoder) Texts(table *Value, key string) []string {
	items := d.Items(table, key, String)
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, item.Text)
	}
	if len(texts) == 0 {
		return nil
	}
	return texts
}
