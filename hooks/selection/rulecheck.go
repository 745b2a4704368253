package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// networkCodes number the networks in a pin; 0 = none. Never renumber.
var networkCodes = []string{"", facts.InfiniBand, facts.RoCE, facts.EFA, facts.Slingshot10, facts.Slingshot11, facts.OmniPath, facts.Ethernet}

// architectures are other names for conda subdirs.
var architectures = map[string]string{
	"x86_64": "linux-64", "x86-64": "linux-64", "amd64": "linux-64",
	"aarch64": "linux-aarch64", "arm64": "linux-aarch64",
	"ppc64le": "linux-ppc64le",
}

// check brings a row into its canonical form, or says what is wrong in it.
func (r *Rule) check() error {
	if r.Key == "" || strings.ContainsAny(r.Key, " \t\n") {
		return fmt.Errorf("its key %q is no word; next: give it one (key: gpu-infiniband)", r.Key)
	}
	for i, a := range r.Architecture {
		if subdir, known := architectures[strings.ToLower(a)]; known {
			r.Architecture[i] = subdir
		} else if a == "" || strings.ContainsAny(a, " \t\n") {
			return fmt.Errorf("%s: architecture %q", r.Key, a)
		}
	}
	for i, n := range r.Network {
		n = strings.ToLower(n)
		if !slices.Contains(facts.NetworkKinds(), n) {
			return fmt.Errorf("%s: there is no network %q; there are %s", r.Key, r.Network[i], strings.Join(facts.NetworkKinds(), ", "))
		}
		r.Network[i] = n
	}
	for _, p := range r.Partition {
		if p == "" {
			return fmt.Errorf("%s: a partition without a name", r.Key)
		}
	}
	for _, list := range []*[]string{&r.Network, &r.Partition, &r.Architecture} {
		slices.Sort(*list)
		if *list = slices.Compact(*list); len(*list) == 0 {
			*list = nil
		}
	}
	r.phrases = nil
	for i, text := range r.Prefer {
		p, err := parsePhrase(text)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
		if slices.Contains(r.Prefer[:i], p.String()) {
			return fmt.Errorf("%s: it prefers %q twice", r.Key, text)
		}
		r.phrases, r.Prefer[i] = append(r.phrases, p), p.String()
	}
	if r.Mixed && len(r.Prefer) > maxMixed {
		return fmt.Errorf("%s: a row for mixed jobs prefers at most %d things", r.Key, maxMixed)
	}
	if r.Mixed && len(r.Set) > 0 {
		return fmt.Errorf("%s: a row for mixed jobs sets no variables; next: set them in rows for the nodes", r.Key)
	}
	return r.checkSettings()
}

func (r *Rule) checkSettings() error {
	slices.SortFunc(r.Set, func(a, b RuleSetting) int { return strings.Compare(a.Name, b.Name) })
	for i, s := range r.Set {
		switch {
		case !isVariable(s.Name):
			return fmt.Errorf("%s: %q is no name of a variable", r.Key, s.Name)
		case strings.ContainsAny(s.Value, "\x00\n"):
			return fmt.Errorf("%s: the value of %s has a line break", r.Key, s.Name)
		case i > 0 && r.Set[i-1].Name == s.Name:
			return fmt.Errorf("%s: it sets %s twice", r.Key, s.Name)
		case strings.HasPrefix(s.Name, "SLURM_") || strings.HasPrefix(s.Name, "HPCENV_") || strings.HasPrefix(s.Name, "LD_"):
			return fmt.Errorf("%s: %s is not a site's to set here", r.Key, s.Name)
		}
	}
	return nil
}

func isVariable(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// contradiction returns an error of class ErrRules if two rows match one node,
// answer one question differently, and nothing says which counts: neither is more
// specific, and no third row is for just what both match.
func contradiction(rows []*Rule) error {
	prefer := func(a, b *Rule) bool { return slices.Equal(a.Prefer, b.Prefer) }
	set := func(a, b *Rule) bool { return slices.Equal(a.Set, b.Set) }
	for _, q := range []struct {
		answers func(*Rule) bool
		same    func(a, b *Rule) bool
		what    string
	}{{(*Rule).prefers, prefer, "what to prefer"}, {(*Rule).mixes, prefer, "what to prefer"}, {(*Rule).sets, set, "which variables to set"}} {
		var answering []*Rule
		for _, r := range rows {
			if q.answers(r) {
				answering = append(answering, r)
			}
		}
		for i, a := range answering {
			for _, b := range answering[i+1:] {
				if a.site == b.site && !q.same(a, b) && unsettled(a, b, answering) {
					return fmt.Errorf("%w: %s and %s contradict each other: both say %s for %s, and neither is the more specific; next: narrow one of them, or add a row for what both match",
						ErrRules, a.Key, b.Key, q.what, a.both(b))
				}
			}
		}
	}
	return nil
}

// unsettled: a and b match one node, and no row says which of them counts.
func unsettled(a, b *Rule, rows []*Rule) bool {
	m, none := a.meet(b)
	if none {
		return false
	}
	if within, contains := a.within(b), b.within(a); within || contains {
		return within && contains
	}
	return !slices.ContainsFunc(rows, func(c *Rule) bool {
		return c.site == a.site && c.within(a) && c.within(b) && m.within(c)
	})
}

// subset: what a admits, b admits; nil admits all.
func subset(a, b []string) bool {
	if b == nil {
		return true
	}
	return a != nil && !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

// meet is what both admit; none = nothing is.
func meet(a, b []string) (both []string, none bool) {
	switch {
	case a == nil:
		return b, false
	case b == nil:
		return a, false
	}
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both, len(both) == 0
}

// within: every node that r matches, o matches.
func (r *Rule) within(o *Rule) bool {
	return (o.GPU == nil || r.GPU != nil && *r.GPU == *o.GPU) &&
		subset(r.Network, o.Network) && subset(r.Partition, o.Partition) && subset(r.Architecture, o.Architecture)
}

// meet is the row that matches what r and o match together.
func (r *Rule) meet(o *Rule) (m Rule, none bool) {
	if r.GPU != nil && o.GPU != nil && *r.GPU != *o.GPU {
		return m, true
	}
	if m.GPU = r.GPU; m.GPU == nil {
		m.GPU = o.GPU
	}
	var n, p, a bool
	m.Network, n = meet(r.Network, o.Network)
	m.Partition, p = meet(r.Partition, o.Partition)
	m.Architecture, a = meet(r.Architecture, o.Architecture)
	return m, n || p || a
}

// both says in words what r and o match together.
func (r *Rule) both(o *Rule) string {
	m, _ := r.meet(o)
	var words []string
	if m.GPU != nil && *m.GPU {
		words = append(words, "nodes with a GPU")
	} else if m.GPU != nil {
		words = append(words, "nodes without a GPU")
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"network", m.Network}, {"partition", m.Partition}, {"architecture", m.Architecture}} {
		if x.list != nil {
			words = append(words, x.what+" "+strings.Join(x.list, ", "))
		}
	}
	if words == nil {
		return "all nodes"
	}
	return strings.Join(words, " and ")
}
