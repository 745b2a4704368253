package selection

import (
	"fmt"
	"slices"
)

// Loaded is what a kind that the plan does not have is selected from.
type Loaded struct {
	Environments []Environment
	// Rules with the digest that the pin names.
	Rules Rules
}

// Decision is what a node gets.
type Decision struct {
	Choice
	// Warnings to show once on the node.
	Warnings []string `json:"warnings,omitempty"`
	// Fresh: the plan does not have the node's kind, so it was selected now, and may
	// not be prepared.
	Fresh bool `json:"fresh,omitempty"`
}

// Decide tells what a node of this kind gets in a pinned job, from its own facts
// and the pin. Only for a kind that the plan does not have, and for the reasons of
// a forced environment, load is called: with the digest of the rules, for the
// lock's environments.
//
// The error is of class ErrUndecided (Resolve comes first), ErrNoFit, ErrAmbiguous
// or ErrRules, or load's own.
func (p *PinnedPlan) Decide(k *Kind, load func(rules string) (*Loaded, error)) (*Decision, error) {
	i, known := p.kind[k.Digest]
	if !known {
		return p.fresh(k, load)
	}
	set := &p.sets[i]
	if !p.Decided && !p.AloneEach {
		return nil, fmt.Errorf("%w; next: the batch host or srun decides it", ErrUndecided)
	}
	if len(set.options) == 0 {
		return nil, p.unfit(k.Digest)
	}
	d := &Decision{Choice: p.choices[set.options[0].choice]}
	if set.site > 0 {
		d.Site = slices.Clone(p.site[set.site-1])
	}
	var unmet []string
	if d.Forced {
		unmet = p.lacks(k, d, load)
	}
	d.Warnings = d.warnings(k, p.Wish.MultiNode, unmet)
	return d, nil
}

// Choices lists what the plan gives to some kind, or may give: what must be there
// before the job starts.
func (p *PinnedPlan) Choices() []Choice { return slices.Clone(p.choices) }

// fresh selects for a kind that appeared since the job was submitted.
func (p *PinnedPlan) fresh(k *Kind, load func(string) (*Loaded, error)) (*Decision, error) {
	if !p.Decided && !p.AloneEach {
		return nil, fmt.Errorf("%w; next: the batch host or srun decides it", ErrUndecided)
	}
	in, err := p.input(k, load)
	if err != nil {
		return nil, err
	}
	plan, err := Select(*in)
	if err != nil {
		return nil, err
	}
	r := &plan.Rows[0]
	d := &Decision{Choice: *r.Choice, Warnings: r.Warnings, Fresh: true}
	d.ID = p.idOf(&d.Choice)
	return d, nil
}

func (p *PinnedPlan) input(k *Kind, load func(string) (*Loaded, error)) (*Input, error) {
	if load == nil {
		return nil, fmt.Errorf("%w: the plan of the job does not have nodes of kind %s", ErrNoFit, k.Digest)
	}
	loaded, err := load(p.Rules)
	if err != nil {
		return nil, fmt.Errorf("selecting for a kind of node (%s) that the job's plan does not have: %w", k.Digest, err)
	}
	if got := loaded.Rules.Digest(); got != p.Rules {
		return nil, fmt.Errorf("%w: the job was submitted under rules %s, and those at hand are %s; next: submit it again", ErrRules, p.Rules, got)
	}
	in := &Input{Environments: loaded.Environments, Groups: []Group{{Kind: *k, Count: 1}}, Wish: p.Wish, Rules: loaded.Rules}
	if p.Decided {
		in.Wish.Wire = &p.Wire
	}
	return in, nil
}

// idOf finds the id that the plan knows for an environment: an id covers all
// platforms, one name for each subdir. "" = not known.
func (p *PinnedPlan) idOf(c *Choice) string {
	for i := range p.choices {
		o := &p.choices[i]
		if o.Environment == c.Environment && (o.Subdir != c.Subdir || o.Platform == c.Platform) {
			return o.ID
		}
	}
	return ""
}

// lacks says what a forced environment misses on a node, for the node's warning.
func (p *PinnedPlan) lacks(k *Kind, d *Decision, load func(string) (*Loaded, error)) []string {
	in, err := p.input(k, load)
	if err != nil {
		return nil // the warning says so in general
	}
	s, err := newSelector(in)
	if err != nil {
		return nil
	}
	for _, c := range s.kinds[0].cands {
		if c.env.Name == d.Environment && c.plat.Platform == d.Platform {
			return c.reasons
		}
	}
	return nil
}

// Changed tells whether a decision from fresh facts is what the plan gave the kind
// that the node had before (its digest): an error of class ErrChanged if it is not.
// A kind that the plan does not have has not changed.
func (p *PinnedPlan) Changed(before string, d *Decision) error {
	i, known := p.kind[before]
	if !known {
		return nil
	}
	was := "nothing"
	if set := &p.sets[i]; len(set.options) == 1 && set.options[0].choice >= 0 {
		c := &p.choices[set.options[0].choice]
		if c.Same(&d.Choice) {
			return nil
		}
		was = c.String()
	}
	return fmt.Errorf("%w: the job was submitted for %s here, and the node now gets %s; next: hpcenv plan says why, and submitting again plans anew", ErrChanged, was, &d.Choice)
}

// Same tells whether two choices run the same thing.
func (c *Choice) Same(o *Choice) bool {
	return c.Environment == o.Environment && c.Platform == o.Platform && c.Family == o.Family && c.MPI == o.MPI
}
