package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxSize of a table in bytes.
const MaxSize = 1 << 20

// ErrTable is the class of errors in a table.
var ErrTable = errors.New("the table of CUDA's versions")

// Parse reads a table; origin is its file, for messages. What the table has must have
// a source, be in order and be there once, and be complete enough to answer. The error
// is of class ErrTable and names the lines, up to ten.
func Parse(origin string, text []byte) (*Table, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrTable, origin, MaxSize)
	}
	sum := sha256.Sum256(text)
	r := reader{seen: map[string]bool{}, table: &Table{Origin: origin, Text: string(text), Digest: hex.EncodeToString(sum[:8]), byVersion: map[Version]*toolkit{}}}
	for line := range strings.Lines(string(text)) {
		r.line++
		if w := strings.Fields(line); len(w) > 0 && !strings.HasPrefix(w[0], "#") {
			r.row(w)
		}
	}
	r.whole()
	if len(r.problems) > 0 {
		list := r.problems
		if more := len(list) - 10; more > 0 {
			list = append(slices.Clone(list[:10]), fmt.Sprintf("and %d more", more))
		}
		return nil, fmt.Errorf("%w: %s: %s", ErrTable, origin, strings.Join(list, "; "))
	}
	for i := range r.table.toolkits {
		r.table.byVersion[r.table.toolkits[i].version] = &r.table.toolkits[i]
	}
	return r.table, nil
}

type reader struct {
	table *Table
	line  int
	// seen are sources by key, and models by words.
	seen     map[string]bool
	problems []string
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
}

// forms of the rows by their first word: how many words each has; the last may be
// followed by more where open is set.
var forms = map[string]struct {
	words, key int
	open       bool
	form       string
}{
	"source":  {4, 0, true, "source KEY DATE TEXT"},
	"toolkit": {4, 3, false, "toolkit X.Y DRIVER KEY"},
	"family":  {4, 3, false, "family X DRIVER KEY"},
	"compute": {7, 6, false, "compute C.C NAME FIRST LAST BRANCH KEY"},
	"compat":  {4, 3, false, "compat X.Y BRANCHES KEY"},
	"model":   {5, 3, true, "model C.C CLASS KEY WORDS"},
}

func (r *reader) row(w []string) {
	form, known := forms[w[0]]
	if !known {
		r.problem("%q is no kind of row; there are source, toolkit, family, compute, compat, model", w[0])
		return
	}
	if len(w) < form.words || len(w) > form.words && !form.open {
		r.problem("it is not of the form %q", form.form)
		return
	}
	if key := w[form.key]; form.key > 0 && !r.seen["source "+key] {
		r.problem("no source row before it has the key %q", key)
	}
	t := r.table
	switch w[0] {
	case "source":
		r.source(w)
	case "toolkit":
		row := toolkit{r.version(w[1]), r.driver(w[2])}
		if n := len(t.toolkits); n > 0 {
			r.order(t.toolkits[n-1].version.Compare(row.version), w[1])
			r.order(t.toolkits[n-1].driver.Compare(row.driver), w[2])
		}
		t.toolkits = append(t.toolkits, row)
	case "family":
		row := family{r.number(w[1]), r.driver(w[2])}
		if n := len(t.families); n > 0 {
			r.order(t.families[n-1].major-row.major, w[1])
			r.order(t.families[n-1].driver.Compare(row.driver), w[2])
		}
		t.families = append(t.families, row)
	case "compute":
		row := compute{r.version(w[1]), w[2], r.version(w[3]), r.numberOrNone(w[4]), r.numberOrNone(w[5])}
		if n := len(t.computes); n > 0 {
			r.order(t.computes[n-1].version.Compare(row.version), w[1])
			if last := t.computes[n-1].last; last == 0 && row.last > 0 || row.last > 0 && row.last < last {
				r.problem("%s is dropped before the older %s", w[1], t.computes[n-1].version)
			}
		}
		t.computes = append(t.computes, row)
	case "compat":
		row := compat{version: r.version(w[1])}
		for b := range strings.SplitSeq(w[2], ",") {
			row.branches = append(row.branches, r.number(b))
		}
		if n := len(t.compats); n > 0 {
			r.order(t.compats[n-1].version.Compare(row.version), w[1])
		}
		t.compats = append(t.compats, row)
	case "model":
		r.model(w)
	}
}

func (r *reader) source(w []string) {
	read, err := time.Parse(time.DateOnly, w[2])
	if err != nil {
		r.problem("%q is no date like 2026-11-30", w[2])
	}
	if r.twice("source " + w[1]) {
		r.problem("the source %q is there twice", w[1])
	}
	r.table.sources = append(r.table.sources, Source{Key: w[1], Read: read, Text: strings.Join(w[3:], " ")})
}

func (r *reader) model(w []string) {
	class, known := map[string]Answer{"dc": Yes, "no": No, "-": Unknown}[w[2]]
	if !known {
		r.problem("%q is none of dc, no, -", w[2])
	}
	row := model{words: w[4:], compute: r.version(w[1]).String(), class: class}
	if words := strings.Join(row.words, " "); r.twice("model " + words) {
		r.problem("the model %s is there twice", words)
	}
	r.table.models = append(r.table.models, row)
}

func (r *reader) twice(what string) bool {
	was := r.seen[what]
	r.seen[what] = true
	return was
}

// order takes the comparison of a row with the one before.
func (r *reader) order(c int, what string) {
	switch {
	case c == 0:
		r.problem("%s is there twice", what)
	case c > 0:
		r.problem("%s comes after a newer one", what)
	}
}

func (r *reader) version(s string) Version {
	v, ok := ParseVersion(s)
	if !ok || strings.Count(s, ".") != 1 {
		r.problem("%q is no version like 12.9", s)
	}
	return v
}

func (r *reader) driver(s string) Driver {
	d, ok := ParseDriver(s)
	if !ok {
		r.problem("%q is no version of a driver like 535.54.03", s)
	}
	return d
}

func (r *reader) number(s string) int {
	n, ok := digits(s)
	if !ok || n == 0 {
		r.problem("%q is no number", s)
	}
	return n
}

func (r *reader) numberOrNone(s string) int {
	if s == "-" {
		return 0
	}
	return r.number(s)
}

// whole checks what no row shows by itself. A table without toolkits and families
// would answer every question with "not known", and so let everything pass.
func (r *reader) whole() {
	t := r.table
	if len(t.toolkits) == 0 || len(t.families) == 0 || len(t.computes) == 0 {
		r.problems = append(r.problems, "it must have rows of the kinds toolkit, family and compute")
	}
	for _, f := range t.families {
		if !slices.ContainsFunc(t.toolkits, func(k toolkit) bool { return k.version.Major == f.major }) {
			r.problems = append(r.problems, fmt.Sprintf("the family %d has no toolkit", f.major))
		}
	}
	for _, k := range t.toolkits {
		if !slices.ContainsFunc(t.families, func(f family) bool { return k.version.Major == f.major }) {
			r.problems = append(r.problems, fmt.Sprintf("the toolkit %s has no family", k.version))
		}
	}
}
