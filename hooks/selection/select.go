package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
)

// Select decides for a job that runs on all the groups: each kind gets an
// environment, and all have one wire. The error is of class ErrInput, ErrWish, or
// an *Error with the table of all kinds.
func Select(in Input) (*Plan, error) {
	s, err := newSelector(&in)
	if err != nil {
		return nil, err
	}
	plan := s.plan()
	if len(s.unfit()) > 0 {
		return nil, s.fail(ErrNoFit, plan)
	}
	if !s.wish.MultiNode {
		return s.alone(plan)
	}
	wires, mixed, out := resolve(s.options)
	switch out {
	case ambiguous:
		return nil, s.tie(plan, s.options, wires, mixed)
	case apart:
		return nil, s.fail(ErrFamilies, plan)
	}
	s.settle(plan, wires[0], mixed)
	return plan, nil
}

// SelectLater plans for a job that may run on any of the groups. Where they agree
// the plan is decided; else it holds what each kind gets under each wire, and
// PinnedPlan.Resolve decides when the nodes are known. Kinds that nothing fits are
// rows with a Problem. It fails, as Select does, if nothing fits any kind, or if a
// kind by itself would leave several environments equally good.
func SelectLater(in Input) (*Plan, error) {
	s, err := newSelector(&in)
	if err != nil {
		return nil, err
	}
	plan := s.plan()
	if len(s.unfit()) == len(s.kinds) {
		return nil, s.fail(ErrNoFit, plan)
	}
	if !s.wish.MultiNode {
		return s.alone(plan)
	}
	var wires []Wire
	for i := range s.kinds {
		if len(s.options[i]) == 0 {
			continue
		}
		w, mixed, out := resolve(s.options[i : i+1])
		if out != decided {
			return nil, s.tie(plan, s.options[i:i+1], w, mixed)
		}
		s.give(plan, i, w[0], mixed)
		if !slices.Contains(wires, w[0]) {
			wires = append(wires, w[0])
		}
	}
	if len(wires) == 1 {
		s.settle(plan, wires[0], 0)
		return plan, nil
	}
	plan.Undecided = true
	for i := range s.kinds {
		plan.Rows[i].Alternatives = s.alternatives(plan, i)
	}
	s.warnApart(plan)
	return plan, nil
}

// alone decides for every kind by itself.
func (s *selector) alone(plan *Plan) (*Plan, error) {
	for i := range s.kinds {
		if len(s.options[i]) == 0 {
			continue
		}
		w, mixed, out := resolve(s.options[i : i+1])
		if out != decided {
			return nil, s.tie(plan, s.options[i:i+1], w, mixed)
		}
		s.give(plan, i, w[0], mixed)
	}
	return plan, nil
}

// settle gives every kind that fits what it gets under a wire.
func (s *selector) settle(plan *Plan, w Wire, mixed int) {
	plan.Wire = &w
	for i := range s.kinds {
		if len(s.options[i]) > 0 {
			s.give(plan, i, w, mixed)
		}
	}
	plan.Warnings = append(plan.Warnings, s.warnFabrics(plan)...)
}

// selector is one selection under way.
type selector struct {
	wish  Wish
	rules *ruleSet
	envs  []*Environment
	memo  map[memoKey]requirement.Verdict
	kinds []*judgement
	// choices are the candidates that some option has, wires all there are, options
	// those of each kind.
	choices []*judged
	wires   []Wire
	options [][]option
	mixed   *Rule
}

func newSelector(in *Input) (*selector, error) {
	envs, groups, err := in.canonical()
	if err != nil {
		return nil, err
	}
	s := &selector{wish: in.Wish, rules: in.Rules.get(), envs: envs, memo: map[memoKey]requirement.Verdict{}}
	if s.wish.Check, err = ParseCheck(string(in.Wish.Check)); err != nil {
		return nil, err
	}
	if name := s.wish.Environment; name != "" && !slices.ContainsFunc(envs, func(e *Environment) bool { return e.Name == name }) {
		names := make([]string, len(envs))
		for i, e := range envs {
			names[i] = e.Name
		}
		return nil, fmt.Errorf("%w: the lock has no environment %s; it has %s", ErrWish, name, strings.Join(names, ", "))
	}
	kinds := make([]*Kind, len(groups))
	for i, g := range groups {
		kinds[i] = &g.Kind
		s.kinds = append(s.kinds, s.judge(g))
	}
	s.mixed = s.rules.mixed(kinds, s.wish.Partitions)
	s.findWires()
	for _, j := range s.kinds {
		s.options = append(s.options, s.optionsOf(j))
	}
	return s, nil
}

func (s *selector) findWires() {
	for _, j := range s.kinds {
		for _, c := range j.cands {
			if w := c.wire(); c.eligible() && !slices.Contains(s.wires, w) {
				s.wires = append(s.wires, w)
			}
		}
	}
	slices.SortFunc(s.wires, Wire.compare)
}

// optionsOf lists what a kind gets under each wire.
func (s *selector) optionsOf(j *judgement) []option {
	var out []option
	top := leaders(j.eligible(func(*judged) bool { return true }), j.group.Kind.usableGPU())
	for _, w := range s.wires {
		under := j.eligible(func(c *judged) bool { return w.takes(&c.plat.Stack) })
		if len(under) == 0 {
			continue
		}
		o := s.option(j, under, w)
		o.preferred = slices.ContainsFunc(top, func(c *judged) bool { return w.takes(&c.plat.Stack) })
		o.isDefault = o.isDefault && slices.Contains(top, s.pick(j, o.choice))
		out = append(out, o)
		if s.mixed == nil {
			continue
		}
		for i, p := range s.mixed.phrases {
			taken := j.eligible(func(c *judged) bool { return w.takes(&c.plat.Stack) && p.takes(c.env.Name, &c.plat.Stack) })
			if len(taken) > 0 {
				o := s.option(j, taken, w)
				o.mixed = i + 1
				out = append(out, o)
			}
		}
	}
	return out
}

func (s *selector) option(j *judgement, cands []*judged, w Wire) option {
	pick, tied := best(cands, j.group.Kind.usableGPU())
	if pick == nil {
		return option{wire: w, choice: -1, tied: tied}
	}
	return option{wire: w, choice: s.choiceIndex(pick), isDefault: pick.env.Name == defaultName}
}

// choiceIndex numbers what can be chosen: an environment on a platform, with all
// that a node must know of it.
func (s *selector) choiceIndex(c *judged) int {
	i := slices.IndexFunc(s.choices, func(o *judged) bool {
		return o.env == c.env && o.plat == c.plat && o.network == c.network && o.native == c.native && o.forced == c.forced
	})
	if i < 0 {
		i = len(s.choices)
		s.choices = append(s.choices, c)
	}
	return i
}

// eligible lists the candidates that may be taken and that cond has.
func (j *judgement) eligible(cond func(*judged) bool) []*judged {
	var out []*judged
	for _, c := range j.cands {
		if c.eligible() && cond(c) {
			out = append(out, c)
		}
	}
	return out
}

// unfit lists the kinds that get nothing.
func (s *selector) unfit() []*judgement {
	var out []*judgement
	for i, j := range s.kinds {
		if len(s.options[i]) == 0 {
			out = append(out, j)
		}
	}
	return out
}

// pick finds the candidate that stands behind a choice for a kind.
func (s *selector) pick(j *judgement, choice int) *judged {
	c := s.choices[choice]
	for _, own := range j.cands {
		if own.env == c.env && own.plat == c.plat {
			return own
		}
	}
	return c
}

// alternatives of a kind under each wire, for people and JSON.
func (s *selector) alternatives(plan *Plan, i int) []Alternative {
	var out []Alternative
	for _, o := range s.options[i] {
		a := Alternative{Wire: o.wire, Preferred: o.preferred, Default: o.isDefault, Tied: o.tied, Mixed: o.mixed}
		if o.choice >= 0 {
			c := s.choice(i, s.pick(s.kinds[i], o.choice))
			a.Choice = &c
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Alternative) int {
		return cmp.Or(cmp.Compare(a.Mixed, b.Mixed), a.Wire.compare(b.Wire))
	})
	return out
}
