package selection

// Kinds is how many kinds of node the plan has.
func (p *PinnedPlan) Kinds() int { return len(p.kind) }

// Shorten leaves out the kinds that get what most kinds get, for a plan that is too long
// to travel: such nodes select anew (Decide), and get the same. False, and nothing
// changed, for a plan that has to be resolved, which needs them all.
func (p *PinnedPlan) Shorten() bool {
	if !p.Decided && !p.AloneEach || len(p.kind) == 0 {
		return false
	}
	count := make([]int, len(p.sets))
	most := 0
	for _, i := range p.kind {
		if count[i]++; count[i] > count[most] || count[i] == count[most] && i < most {
			most = i
		}
	}
	for digest, i := range p.kind {
		if i == most {
			delete(p.kind, digest)
		}
	}
	return true
}
