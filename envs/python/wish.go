package python

import (
	"strings"
)

// Wish is what stands for the name of an environment where a lock names neither
// environments nor a Python (uv.lock, pylock.toml): what of the lock is wanted, and
// which Python. Its text says all of it, so that whoever has lock and text, and
// nothing of what lies beside the lock, means the same.
type Wish struct {
	Selection
	// Python that is asked for; the zero value asks nothing.
	Python Request
}

// pythonItem is the key of a wish's items about Python.
const pythonItem = "python"

// ParseWish reads the text of a wish: the items of a Selection (ParseSelection),
// and `python=` with a version (python=3.12, python=3.13t) or, once or more, with a
// clause that it must satisfy (python=>=3.11). The error wraps ErrSelection or
// ErrInterpreter.
func ParseWish(text string) (Wish, error) {
	var w Wish
	var clauses, items []string
	for _, item := range strings.Split(text, ",") {
		if value, ok := strings.CutPrefix(item, pythonItem+"="); ok {
			clauses = append(clauses, value)
		} else {
			items = append(items, item)
		}
	}
	var err error
	if len(clauses) > 0 {
		if w.Python, err = ParseRequest(strings.Join(clauses, ",")); err != nil {
			return w, err
		}
	}
	w.Selection, err = ParseSelection(strings.Join(items, ","))
	return w, err
}

// String is the canonical text, which ParseWish reads. w.Selection must be
// canonical.
func (w Wish) String() string {
	if w.Python.Text == "" {
		return w.Selection.String()
	}
	var items []string
	for _, clause := range w.Python.items() {
		items = append(items, pythonItem+"="+clause)
	}
	if s := w.Selection.String(); s != DefaultSelection {
		items = append(items, s)
	}
	return strings.Join(items, ",")
}

// items are what ParseRequest reads, one after the other: the version, or clauses.
func (r Request) items() []string {
	if len(r.Versions) == 1 {
		if v, ok := strings.CutPrefix(r.Versions[0].String(), "=="); ok {
			short := strings.TrimSuffix(v, ".*")
			suffix := ""
			if r.FreeThreaded {
				suffix = "t"
			}
			if again, err := ParseRequest(short + suffix); err == nil && again.Versions.String() == r.Versions.String() {
				return []string{short + suffix}
			}
		}
	}
	var out []string
	for _, c := range r.Versions {
		out = append(out, strings.Join(strings.Fields(c.String()), ""))
	}
	return out
}
