package editable

import (
	"strings"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// is returns the value of a path if it has the kind; nil if it is not there. One
// of another kind is remembered as wrong.
func (r *reader) is(kind tomltree.Kind, path ...string) *tomltree.Value {
	v := r.root.Get(path...)
	if v != nil && v.Kind != kind {
		r.wrong(v, path, kind.String())
		return nil
	}
	return v
}

func (r *reader) wrong(v *tomltree.Value, path []string, want string) {
	if r.err == nil {
		r.err = r.refuse(v.Line, "correct it", "`%s` must be %s, it is %s", strings.Join(path, "."), want, v.Kind)
	}
}

// text is a text; "" if it is not there.
func (r *reader) text(path ...string) string {
	if v := r.is(tomltree.String, path...); v != nil {
		return v.Text
	}
	return ""
}

// flag is true or false; false if it is not there.
func (r *reader) flag(path ...string) bool {
	v := r.is(tomltree.Bool, path...)
	return v != nil && v.Text == "true"
}

// texts is an array of texts; nil if it is not there.
func (r *reader) texts(path ...string) []string {
	v := r.is(tomltree.Array, path...)
	if v == nil {
		return nil
	}
	out := []string{}
	for _, item := range v.Items {
		if item.Kind != tomltree.String {
			r.wrong(item, path, "an array of texts")
			return nil
		}
		out = append(out, item.Text)
	}
	return out
}

// textOrTexts is one text or several.
func (r *reader) textOrTexts(path ...string) []string {
	if v := r.root.Get(path...); v != nil && v.Kind == tomltree.String {
		return []string{v.Text}
	}
	return r.texts(path...)
}

// pair is a key and its text.
type pair struct{ key, value string }

// pairs is a table of texts in the file's order.
func (r *reader) pairs(path ...string) []pair {
	v := r.is(tomltree.Table, path...)
	if v == nil {
		return nil
	}
	var out []pair
	for _, e := range v.Entries {
		if e.Value.Kind != tomltree.String {
			r.wrong(e.Value, append(path, e.Key), "a text")
			return nil
		}
		out = append(out, pair{e.Key, e.Value.Text})
	}
	return out
}

// line of a path; 0 if it is not there.
func (r *reader) line(path ...string) int32 {
	if v := r.root.Get(path...); v != nil {
		return v.Line
	}
	return 0
}

// forbid refuses a project that has a key: what it does cannot be had without
// building.
func (r *reader) forbid(why string, path ...string) error {
	v := r.root.Get(path...)
	if v == nil || v.Kind == tomltree.Table && len(v.Entries) == 0 || v.Kind == tomltree.Array && len(v.Items) == 0 {
		return nil
	}
	return r.refuse(v.Line, buildWheel, "[%s] %s", strings.Join(path, "."), why)
}
