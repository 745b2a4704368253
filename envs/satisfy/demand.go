package satisfy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/pyproject"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// demand is one requirement, of a manifest or as a lock recorded it, in a form in
// which the two can be compared.
type demand struct {
	name   string
	extras []string // sorted
	// what is asked of the package: versions, or that it is no index's.
	what string
	// extra of the project that asks for it; "" = none, or said by a marker.
	extra string
	// markers that all have to hold.
	markers []*marker.Marker
	line    int32
	text    string // of key, once made
}

// elsewhere is what is asked of a package that comes from no index.
const elsewhere = "@"

// key is what is asked for, without its conditions.
func (d *demand) key() string {
	if d.text == "" {
		d.text = d.keyText()
	}
	return d.text
}

func (d *demand) keyText() string {
	text := d.name
	if len(d.extras) > 0 {
		text += "[" + strings.Join(d.extras, ",") + "]"
	}
	switch d.what {
	case "":
	case elsewhere:
		text += " from a source of its own"
	default:
		text += " " + d.what
	}
	return text
}

// newDemand is a requirement as a demand. Of a loose name it does not count which
// versions are asked for, and from where.
func newDemand(r *requirement.Requirement, loose func(string) bool) *demand {
	d := &demand{name: name.Normalize(r.Name), extras: canonicalNames(r.Extras), what: canonicalVersions(r.Specifiers)}
	if r.Marker != nil {
		d.markers = []*marker.Marker{r.Marker}
	}
	if r.URL != "" {
		d.what = elsewhere
	}
	if loose(d.name) {
		d.what = ""
	}
	return d
}

// declared are the requirements of a project as demands.
func declared(list []pyproject.Requirement, loose func(string) bool) []*demand {
	var out []*demand
	for _, r := range list {
		d := newDemand(r.Requirement, loose)
		d.extra, d.line = r.Extra, r.Line
		out = append(out, d)
	}
	return out
}

func canonicalNames(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, name.Normalize(n))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// canonicalVersions is a text that is the same for sets of the same clauses. Zeros
// at the end of a release do not count, as they do not for uv.
func canonicalVersions(set version.Set) string {
	var clauses []string
	for _, s := range set {
		text := s.Text
		if s.Op != version.Identical {
			base := s.Version.Base().String()
			rest := strings.TrimPrefix(s.Version.String(), base)
			for strings.HasSuffix(base, ".0") {
				base = strings.TrimSuffix(base, ".0")
			}
			if text = base + rest; s.Prefix {
				text += ".*"
			}
		}
		clauses = append(clauses, string(s.Op)+text)
	}
	slices.Sort(clauses)
	return strings.Join(slices.Compact(clauses), ",")
}

// maxFlattened bounds the steps of flattened: extras may ask for one another. What is
// beyond is left out, and the other form counts.
const maxFlattened = 10_000

// flattened replaces what a project asks for by its own extras by what these ask
// for, as some build back-ends do.
func flattened(list []*demand, self string) []*demand {
	var out []*demand
	steps := 0
	var expand func(d *demand, within []string)
	expand = func(d *demand, within []string) {
		if d.name != self || len(d.extras) == 0 {
			out = append(out, d)
			return
		}
		for _, extra := range d.extras {
			if steps++; slices.Contains(within, extra) || steps > maxFlattened {
				continue
			}
			for _, child := range list {
				if child.extra != extra {
					continue
				}
				c := *child
				c.extra, c.line = d.extra, d.line
				c.markers = slices.Concat(d.markers, child.markers)
				expand(&c, append(slices.Clone(within), extra))
			}
		}
	}
	for _, d := range list {
		expand(d, nil)
	}
	return out
}

// difference is what only one of two lists asks for somewhere.
type difference struct{ added, gone []*demand }

// compared finds what differs between what a manifest asks for and what a lock was
// made for, for the Pythons that fit. It asks for no form of a condition, but where
// the condition holds. sure is false where a condition cannot be evaluated.
func compared(wanted, locked []*demand, pythons version.Set) (d difference, sure bool) {
	one, other := newSide(wanted), newSide(locked)
	for _, p := range probes(pythons, wanted, locked) {
		if !one.at(p) || !other.at(p) {
			return difference{}, false
		}
		one.missing(other)
		other.missing(one)
	}
	return difference{added: inOrder(wanted, one.alone), gone: inOrder(locked, other.alone)}, true
}

// closest is compared for a project whose extras may ask for its other extras: some
// build back-ends replace these by what they ask for, others do not, and a lock may
// have either. asks is the form that differs less.
func closest(wanted, locked []*demand, self string, pythons version.Set) (d difference, asks []*demand, sure bool) {
	flat := flattened(wanted, self)
	d, sure = compared(wanted, locked, pythons)
	other, also := compared(flat, locked, pythons)
	if len(other.added)+len(other.gone) < len(d.added)+len(d.gone) {
		return other, flat, sure && also
	}
	return d, wanted, sure && also
}

// side is one of two lists that are compared.
type side struct {
	// always asked for, by key; some are asked for under conditions.
	always map[string]*demand
	some   []*demand
	// now are those of some whose conditions hold.
	now map[string]*demand
	// alone are those that the other list does not ask for somewhere.
	alone map[string]*demand
}

func newSide(list []*demand) *side {
	s := &side{always: map[string]*demand{}, now: map[string]*demand{}, alone: map[string]*demand{}}
	for _, d := range list {
		switch key := d.key(); {
		case d.extra != "" || len(d.markers) > 0:
			s.some = append(s.some, d)
		case s.always[key] == nil:
			s.always[key] = d
		}
	}
	return s
}

// at finds what is asked for in surroundings; false where a condition cannot be
// evaluated.
func (s *side) at(p *marker.Environment) bool {
	clear(s.now)
	for _, d := range s.some {
		holds, err := d.holds(p)
		if err != nil {
			return false
		}
		if key := d.key(); holds && s.now[key] == nil {
			s.now[key] = d
		}
	}
	return true
}

func (s *side) missing(other *side) {
	for _, mine := range []map[string]*demand{s.always, s.now} {
		for key, d := range mine {
			if other.always[key] == nil && other.now[key] == nil && s.alone[key] == nil {
				s.alone[key] = d
			}
		}
	}
}

// inOrder are demands in the order of their list, each key once.
func inOrder(list []*demand, some map[string]*demand) (out []*demand) {
	for _, d := range list {
		if some[d.key()] == d {
			out = append(out, d)
		}
	}
	return out
}

// holds tells whether something is asked for where p says.
func (d *demand) holds(p *marker.Environment) (bool, error) {
	if d.extra != "" && !slices.Contains(p.Extras, d.extra) {
		return false, nil
	}
	for _, m := range d.markers {
		if holds, err := m.Evaluate(p); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

// words says what differs, one sentence each, with the manifest's line; by is what
// asks, e.g. "app" or "the group dev of app".
func (d difference) words(by string, wanted, locked []*demand) (out []reason) {
	said := map[string]bool{}
	for _, a := range d.added {
		said[a.name] = true
		by := by
		if a.extra != "" {
			by = "the extra " + a.extra + " of " + by
		}
		same := slices.IndexFunc(locked, func(o *demand) bool { return o.key() == a.key() })
		other := slices.IndexFunc(d.gone, func(o *demand) bool { return o.name == a.name })
		text := fmt.Sprintf("%s asks for `%s`, and the lock was made without it", by, a.key())
		switch {
		case same >= 0:
			text = fmt.Sprintf("%s asks for `%s` under other conditions than the lock was made for", by, a.key())
		case other >= 0:
			text = fmt.Sprintf("%s asks for `%s`, and the lock was made for `%s`", by, a.key(), d.gone[other].key())
		}
		out = append(out, reason{text, a.line})
	}
	for _, g := range d.gone {
		if said[g.name] {
			continue
		}
		if i := slices.IndexFunc(wanted, func(o *demand) bool { return o.key() == g.key() }); i >= 0 {
			out = append(out, reason{fmt.Sprintf("%s asks for `%s` under other conditions than the lock was made for", by, g.key()), wanted[i].line})
			continue
		}
		out = append(out, reason{fmt.Sprintf("the lock was made for `%s`, which %s does not ask for", g.key(), by), 0})
	}
	return out
}

// reason is why a lock is stale, with the line of the manifest; 0 = none.
type reason struct {
	text string
	line int32
}

func (r reason) in(file string) string {
	if r.line == 0 {
		return r.text
	}
	return fmt.Sprintf("%s (%s, line %d)", r.text, file, r.line)
}
