package selection

import "slices"

// match returns the row whose preferences count for a kind; nil = none. A site's
// row comes before a default one, then the more specific; that no two rows are
// left which answer differently was checked when the rules were read.
func (s *ruleSet) match(k *Kind, partitions []string) *Rule {
	return s.best((*Rule).prefers, []*Kind{k}, partitions)
}

// settings returns the row whose variables count for a kind; nil = none.
func (s *ruleSet) settings(k *Kind, partitions []string) *Rule {
	return s.best((*Rule).sets, []*Kind{k}, partitions)
}

// mixed returns the row for a job over all these kinds; nil = none.
func (s *ruleSet) mixed(kinds []*Kind, partitions []string) *Rule {
	return s.best((*Rule).mixes, kinds, partitions)
}

// A row answers one question or two; those that do not answer one leave it to
// others. A row that says nothing at all says that nothing is preferred.
func (r *Rule) prefers() bool { return !r.Mixed && (len(r.Prefer) > 0 || len(r.Set) == 0) }
func (r *Rule) sets() bool    { return len(r.Set) > 0 }
func (r *Rule) mixes() bool   { return r.Mixed }

func (s *ruleSet) best(answers func(*Rule) bool, kinds []*Kind, partitions []string) *Rule {
	var best *Rule
	for _, r := range s.rows {
		if !answers(r) || best != nil && !r.before(best) {
			continue
		}
		if !slices.ContainsFunc(kinds, func(k *Kind) bool { return !r.matches(k, partitions) }) {
			best = r
		}
	}
	return best
}

// before tells whether r counts rather than o where both match.
func (r *Rule) before(o *Rule) bool {
	if r.site != o.site {
		return r.site
	}
	return r.within(o) && !o.within(r)
}

func (r *Rule) matches(k *Kind, partitions []string) bool {
	return (r.GPU == nil || *r.GPU == k.usableGPU()) &&
		(r.Network == nil || slices.Contains(r.Network, network(k))) &&
		(r.Architecture == nil || slices.Contains(r.Architecture, k.Subdir)) &&
		(r.Partition == nil || len(partitions) > 0 && subset(partitions, r.Partition))
}
