package oracle

import (
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
)

// Allowance is a difference that may be, and why.
type Allowance struct {
	// Case is a whole-string pattern for the name of the input; "" = any.
	Case string
	// Path and Field are whole-string patterns for Difference.Path and
	// Difference.Field; Key for Difference.Key.
	Path, Field, Key string
	// Holds (nil = always) says whether the values are those that are allowed.
	Holds func(d Difference, all []Difference) bool
	// Shared: only the shared data has such a case, so that without it nothing
	// needs to hit the entry.
	Shared bool
	Reason string
}

// Allowed is every difference between a prefix of hpcenv and one of rattler for
// the same packages.
var Allowed = []Allowance{
	{
		Path: `CACHEDIR\.TAG`, Field: `path`, Holds: only("rattler"),
		Reason: "rattler keeps backup programs away from prefixes; ours lie in a store or an image",
	},
	{
		Path: `conda-meta/frozen`, Field: `path`, Holds: only("hpcenv"),
		Reason: "the prefix is not to be changed (CEP 22)",
	},
	{
		Path: `lib/python[0-9]+\.[0-9]+t?/EXTERNALLY-MANAGED`, Field: `path`, Holds: only("hpcenv"),
		Reason: "the prefix is not to be changed by pip",
	},
	{
		Path: `lib/python[0-9]+\.[0-9]+t?/site-packages/hpcenv-overlay\.pth`, Field: `path`, Holds: only("hpcenv"),
		Reason: "the line by which the prefix's Python finds what a user's own project adds (an overlay)",
	},
	{
		Path: `lib(/python[0-9]+\.[0-9]+t?(/site-packages)?)?`, Field: `path`, Holds: only("hpcenv"),
		Reason: "the directories of EXTERNALLY-MANAGED and hpcenv-overlay.pth, where python brings nothing there",
	},
	{
		Path: `__clobbers__(/.+)?`, Field: `path`, Holds: only("rattler"),
		Reason: "files that lost a conflict are reported, not kept",
	},
	{
		Path: `__clobbers__/.+`, Field: `files|paths`, Holds: only("rattler"),
		Reason: "files that lost a conflict are not in the prefix, so not in the record",
	},
	{
		Path: `.+`, Field: `files|paths`, Holds: lostEqual,
		Reason: "two packages with the same content at one path are no conflict: both records list it",
	},
	{
		Path: ``, Field: `record`, Key: `extracted_package_dir|package_tarball_full_path`, Holds: only("rattler"),
		Reason: "records name no cache",
	},
	{
		Path: ``, Field: `record`, Key: `link\.source`, Holds: func(d Difference, _ []Difference) bool { return d.Hpcenv == `""` },
		Reason: "records name no cache",
	},
	{
		Case: `cases/managed`, Path: `lib/python3\.11/EXTERNALLY-MANAGED`, Field: `content|files|paths`,
		Reason: "the marker is hpcenv's even where a package brings one",
	},
	{
		Case: `cases/own-line-long`, Path: `bin/script`, Field: `content|paths\.(sha256_in_prefix|size_in_bytes)`,
		Reason: "an interpreter line that is too long without any prefix stays the package's own: never through env",
	},
	{
		Case: `cases/other-digest`, Path: `bin/a`, Field: `paths\.(sha256_in_prefix|size_in_bytes)`,
		Reason: "paths.json says another digest and size than the archive has: the record says what is there",
	},
	{
		Case: `cases/dotted-path`, Path: `(\./)?bin/a`, Field: `files|paths`,
		Reason: "records have clean paths",
	},
	{
		Case: `cases/listed-twice`, Path: `bin/a( \(again\))?`, Field: `files|paths`,
		Reason: "a path that paths.json lists twice is in the record once",
	},
	{
		Case: `cases/info-listed`, Path: `info(/index\.json)?`, Field: `path|files|paths`, Holds: only("rattler"),
		Reason: "info/ is never linked, even where paths.json lists it (CEP 34)",
	},
}

// only: one of the two has it, the other has nothing.
func only(who string) func(Difference, []Difference) bool {
	return func(d Difference, _ []Difference) bool {
		if who == "rattler" {
			return d.Rattler != "" && d.Hpcenv == ""
		}
		return d.Rattler == "" && d.Hpcenv != ""
	}
}

// lostEqual: hpcenv's record lists a path that rattler's lists below
// __clobbers__; that the contents in the prefix are the same is found by
// comparing the trees.
func lostEqual(d Difference, all []Difference) bool {
	if !only("hpcenv")(d, nil) {
		return false
	}
	for _, o := range all {
		rest, ok := strings.CutPrefix(o.Path, "__clobbers__/")
		if _, p, _ := strings.Cut(rest, "/"); ok && p == d.Path && o.Record == d.Record && o.Field == d.Field && only("rattler")(o, nil) {
			return true
		}
	}
	return false
}

// Refusal is an input that only one of the two installs, and why.
type Refusal struct {
	// Case is a whole-string pattern for the name of the input.
	Case string
	// Who refuses: "rattler" or "hpcenv". Says is a pattern for what it says.
	Who, Says string
	Shared    bool
	Reason    string
}

// Ledger counts what was allowed.
type Ledger struct {
	Allowed  []Allowance
	Refusals []Refusal

	allowed, refused []int
	patterns         map[string]*regexp.Regexp
}

// Explain counts the allowances that apply to the differences of an input and
// returns those that none applies to.
func (l *Ledger) Explain(name string, all []Difference) []Difference {
	if l.allowed == nil {
		l.allowed = make([]int, len(l.Allowed))
	}
	var rest []Difference
next:
	for _, d := range all {
		for i, a := range l.Allowed {
			if (a.Case == "" || l.whole(a.Case, name)) && l.whole(a.Path, d.Path) && l.whole(a.Field, d.Field) && l.whole(a.Key, d.Key) && (a.Holds == nil || a.Holds(d, all)) {
				l.allowed[i]++
				continue next
			}
		}
		rest = append(rest, d)
	}
	return rest
}

// Refused counts the entry that allows who to refuse a case; false if none does.
func (l *Ledger) Refused(name, who string, err error) bool {
	if l.refused == nil {
		l.refused = make([]int, len(l.Refusals))
	}
	for i, r := range l.Refusals {
		if r.Who == who && l.whole(r.Case, name) && l.pattern(r.Says).MatchString(err.Error()) {
			l.refused[i]++
			return true
		}
	}
	return false
}

// Table shows all entries with their hits; unused are those that nothing needed
// (of those that only the shared data needs, if shared is set).
func (l *Ledger) Table(shared bool) (table string, unused []string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	line := func(hits []int, i int, onlyShared bool, what, reason string) {
		n := 0
		if hits != nil {
			n = hits[i]
		}
		fmt.Fprintf(w, "%d\t%s\t%s\n", n, what, reason)
		if n == 0 && (shared || !onlyShared) {
			unused = append(unused, what)
		}
	}
	for i, a := range l.Allowed {
		line(l.allowed, i, a.Shared, strings.Join(strings.Fields(a.Case+" "+a.Field+" "+a.Key+" "+a.Path), " "), a.Reason)
	}
	for i, r := range l.Refusals {
		line(l.refused, i, r.Shared, r.Who+" refuses "+r.Case, r.Reason)
	}
	if err := w.Flush(); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String(), unused
}

func (l *Ledger) whole(pattern, s string) bool {
	return l.pattern(`^(?:` + pattern + `)$`).MatchString(s)
}

func (l *Ledger) pattern(p string) *regexp.Regexp {
	if l.patterns == nil {
		l.patterns = make(map[string]*regexp.Regexp)
	}
	if l.patterns[p] == nil {
		l.patterns[p] = regexp.MustCompile(p)
	}
	return l.patterns[p]
}
