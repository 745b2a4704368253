package selection

import "slices"

// maxMixed bounds the entries of a row for mixed jobs (they are numbered on the
// wire).
const maxMixed = 15

// option is what a kind gets if the job has one wire. A plan and its pinned form
// decide over options alone, by the same function.
type option struct {
	wire Wire
	// choice is an index in the plan's choices; -1 = several are equally good.
	choice int
	// preferred: nothing that the kind could get under another wire is better but for
	// its name.
	preferred bool
	// isDefault: the choice is the environment default.
	isDefault bool
	// mixed is the entry of the row for mixed jobs that gives it, from 1; 0 = the
	// ordinary order does.
	mixed int
	// tied are the names if there is no choice.
	tied []string
}

// equal: the same but for the names of what is tied.
func (o option) equal(p option) bool {
	return o.wire == p.wire && o.choice == p.choice && o.preferred == p.preferred && o.isDefault == p.isDefault && o.mixed == p.mixed
}

// outcome of resolve.
type outcome int

const (
	decided outcome = iota
	ambiguous
	apart // no wire is good on all nodes
)

// resolve decides on one wire for all kinds, each given by its options. mixed is
// the entry of the row for mixed jobs that was needed. Unless it is decided, wires
// are those between which nothing decides. The answer does not depend on the order
// of the kinds.
func resolve(kinds [][]option) (wires []Wire, mixed int, out outcome) {
	for mixed = 0; mixed <= maxMixed; mixed++ {
		wires := common(kinds, mixed)
		if len(wires) == 0 {
			continue
		}
		if len(wires) > 1 {
			byDefault := slices.DeleteFunc(slices.Clone(wires), func(w Wire) bool {
				return slices.ContainsFunc(kinds, func(o []option) bool { return !find(o, w, mixed).isDefault })
			})
			if len(byDefault) != 1 {
				return wires, mixed, ambiguous
			}
			wires = byDefault
		}
		for _, o := range kinds {
			if find(o, wires[0], mixed).choice < 0 {
				return wires, mixed, ambiguous
			}
		}
		return wires, mixed, decided
	}
	return nil, 0, apart
}

// common lists the wires that are good for all kinds, sorted; of those which give
// every kind the same, the first.
func common(kinds [][]option, mixed int) []Wire {
	if len(kinds) == 0 {
		return nil
	}
	var wires []Wire
	for _, o := range kinds[0] {
		good := !slices.ContainsFunc(kinds, func(options []option) bool {
			f := find(options, o.wire, mixed)
			return f == nil || mixed == 0 && !f.preferred
		})
		if good && o.mixed == mixed {
			wires = append(wires, o.wire)
		}
	}
	slices.SortFunc(wires, Wire.compare)
	out := wires[:0]
	for _, w := range wires {
		same := slices.ContainsFunc(out, func(o Wire) bool {
			return !slices.ContainsFunc(kinds, func(options []option) bool {
				a, b := find(options, w, mixed), find(options, o, mixed)
				return a.choice != b.choice || a.choice < 0
			})
		})
		if !same {
			out = append(out, w)
		}
	}
	return out
}

// find the option for a wire; nil = there is none.
func find(options []option, w Wire, mixed int) *option {
	for i := range options {
		if o := &options[i]; o.wire == w && o.mixed == mixed {
			return o
		}
	}
	return nil
}

// leaders are the candidates that come first in order but for their names, of each
// environment one.
func leaders(cands []*judged, gpu bool) []*judged {
	var first []*judged
	for _, c := range cands {
		if len(first) > 0 {
			if order := c.place.compare(first[0].place); order > 0 {
				continue
			} else if order < 0 {
				first = first[:0]
			}
		}
		if i := slices.IndexFunc(first, func(o *judged) bool { return o.env == c.env }); i < 0 {
			first = append(first, c)
		} else if c.moreApt(first[i], gpu) {
			first[i] = c
		}
	}
	return first
}

// best picks among candidates: the leader; if there are several, default; else
// nil, and tied are their names.
func best(cands []*judged, gpu bool) (pick *judged, tied []string) {
	first := leaders(cands, gpu)
	if i := slices.IndexFunc(first, func(c *judged) bool { return c.env.Name == defaultName }); i >= 0 {
		return first[i], nil
	}
	if len(first) == 1 {
		return first[0], nil
	}
	for _, c := range first {
		tied = append(tied, c.env.Name)
	}
	slices.Sort(tied)
	return nil, tied
}

// moreApt chooses between two platforms of one environment for one kind (a lock of
// version 7 may have them): the one that uses the GPU that is there, or none if
// there is none; then the one that comes first in the environment.
func (c *judged) moreApt(o *judged, gpu bool) bool {
	if uc, uo := usesGPU(&c.plat.Stack), usesGPU(&o.plat.Stack); uc != uo {
		return uc == gpu
	}
	return c.pos < o.pos
}
