package lockfile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decoder reads typed values and keeps the first thing that was wrong, so that
// a model reads its keys in a row and asks once. A null is as good as an absent
// key everywhere, as in pixi.
type decoder struct{ err error }

func (d *decoder) failf(line int, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: line %d: %s", ErrLock, line, fmt.Sprintf(format, args...))
	}
}

// is checks the kind; false for null (absent) and for a wrong kind (an error).
func (d *decoder) is(key string, v *value, want kind) bool {
	if v == nil || v.kind == null {
		return false
	}
	if v.kind != want {
		d.failf(v.line, "`%s` must be %s, it is %s", key, want, v.kind)
		return false
	}
	return true
}

// text reads a scalar verbatim: an unquoted 0.10 stays 0.10.
func (d *decoder) text(key string, v *value) string {
	if !d.is(key, v, scalar) {
		return ""
	}
	return v.text
}

// optText tells an empty text from an absent one.
func (d *decoder) optText(key string, v *value) *string {
	if !d.is(key, v, scalar) {
		return nil
	}
	return &v.text
}

// number reads an integer that is not negative.
func (d *decoder) number(key string, v *value) *int64 {
	if !d.is(key, v, scalar) {
		return nil
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || n < 0 || !v.plain {
		d.failf(v.line, "`%s` must be a whole number from 0 on, it is `%s`", key, v.text)
		return nil
	}
	return &n
}

func (d *decoder) size(key string, v *value) int64 {
	if n := d.number(key, v); n != nil {
		return *n
	}
	return 0
}

// timestamp reads one in seconds or milliseconds; 0 if absent.
func (d *decoder) timestamp(key string, v *value) int64 {
	n := milliseconds(d.size(key, v))
	if n > lastSecond*1000+999 {
		d.failf(v.line, "`%s` is %s, which is after the year 9999", key, v.text)
	}
	return n
}

// texts reads a list of texts; nil if absent.
func (d *decoder) texts(key string, v *value) []string {
	if !d.is(key, v, list) {
		return nil
	}
	out := make([]string, len(v.items))
	for i := range v.items {
		if v.items[i].kind != scalar {
			d.failf(v.items[i].line, "`%s` must be a list of texts, one of them is %s", key, v.items[i].kind)
			return nil
		}
		out[i] = v.items[i].text
	}
	return out
}

// features reads track_features: a list, or words in one text.
func (d *decoder) features(key string, v *value) []string {
	if v != nil && v.kind == scalar {
		return splitFeatures(v.text)
	}
	return d.texts(key, v)
}

// textsByName reads a mapping of lists of texts.
func (d *decoder) textsByName(key string, v *value) map[string][]string {
	if !d.is(key, v, mapping) {
		return nil
	}
	out := make(map[string][]string, len(v.items)/2)
	for k, val := range v.pairs {
		out[k.text] = d.texts(key+"."+k.text, val)
	}
	return out
}

// entries yields the mappings of a list of mappings.
func (d *decoder) entries(key string, v *value) []*value {
	if !d.is(key, v, list) {
		return nil
	}
	out := make([]*value, len(v.items))
	for i := range v.items {
		if v.items[i].kind != mapping {
			d.failf(v.items[i].line, "`%s` must be a list of mappings, one of them is %s", key, v.items[i].kind)
			return nil
		}
		out[i] = &v.items[i]
	}
	return out
}

// require complains about a key that must be there.
func (d *decoder) require(owner string, v *value, key string, want kind) *value {
	found := v.get(key)
	if found == nil || found.kind == null {
		d.failf(v.line, "%s has no `%s`", owner, key)
		return nil
	}
	if !d.is(key, found, want) {
		return nil
	}
	return found
}

// hex reads a digest in lower case; whether it is well formed is Check's to say.
func (d *decoder) hex(key string, v *value) string {
	return strings.ToLower(d.text(key, v))
}

// flag reads a truth value; false if absent.
func (d *decoder) flag(key string, v *value) bool {
	if !d.is(key, v, scalar) {
		return false
	}
	switch v.text {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	d.failf(v.line, "`%s` must be true or false, it is `%s`", key, v.text)
	return false
}

// runExports turns the lists of run_exports into canonical JSON; nil if absent.
func runExports(d *decoder, key string, v *value) json.RawMessage {
	lists := d.textsByName(key, v)
	if lists == nil {
		return nil
	}
	for name, items := range lists {
		if len(items) == 0 {
			delete(lists, name)
		}
	}
	return canonical(lists)
}

// whole is an entry as canonical JSON: scalars are texts as the file has them.
func (v *value) whole() json.RawMessage { return canonical(v.plainForm()) }

func (v *value) plainForm() any {
	switch v.kind {
	case scalar:
		return v.text
	case list:
		out := make([]any, len(v.items))
		for i := range v.items {
			out[i] = v.items[i].plainForm()
		}
		return out
	case mapping:
		out := make(map[string]any, len(v.items)/2)
		for key, val := range v.pairs {
			out[key.text] = val.plainForm()
		}
		return out
	}
	return nil
}
