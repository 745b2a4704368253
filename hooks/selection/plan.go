package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// Plan says which environment each kind of node gets, and why.
type Plan struct {
	// Wire that all nodes of the job have; nil = each kind has its own (a job of one
	// node), or it is not decided.
	Wire *Wire `json:"wire,omitempty"`
	// Undecided: it depends on which nodes the job gets, and rows have alternatives.
	Undecided bool `json:"undecided,omitempty"`
	// Wish that the plan answers, and the digest of the rules it rests on.
	Wish  Wish   `json:"wish"`
	Rules string `json:"rules"`
	// CUDA is the table by which drivers and GPUs were judged: its file and digest.
	CUDA string `json:"cuda"`
	// Rows, one for each kind, by the kind's digest.
	Rows []Row `json:"rows"`
	// Warnings about the job as a whole.
	Warnings []string `json:"warnings,omitempty"`
}

// Row of a plan.
type Row struct {
	Group
	// Choice for the kind; nil = nothing fits, and Problem says so. In an undecided
	// plan it is what the kind gets if the job has nodes of this kind alone.
	Choice  *Choice `json:"choice,omitempty"`
	Problem string  `json:"problem,omitempty"`
	// Because says in words why.
	Because string `json:"because,omitempty"`
	// Rule is the row of the rules that counts for the kind; "" = none.
	Rule     string   `json:"rule,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Unused says why GPUs that are there are not used; "" = they are, or there are
	// none, or that was wanted. Nodes do not repeat it.
	Unused string `json:"unused,omitempty"`
	// Rejected alternatives, each with its reasons.
	Rejected []Rejected `json:"rejected,omitempty"`
	// Alternatives under each wire; only in an undecided plan.
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// Alternative is what a kind gets if the job has a certain wire.
type Alternative struct {
	Wire Wire `json:"wire"`
	// Choice; nil = the environments in Tied are equally good.
	Choice *Choice  `json:"choice,omitempty"`
	Tied   []string `json:"tied,omitempty"`
	// Preferred: the kind has nothing better under another wire.
	Preferred bool `json:"preferred,omitempty"`
	// Default: of several wires the one with Default on all kinds is taken, since the
	// choice is the environment default.
	Default bool `json:"default,omitempty"`
	// Mixed is the entry of the rule for mixed jobs that gives it, from 1; 0 = the
	// ordinary order does.
	Mixed int `json:"mixed,omitempty"`
}

// Choice of an environment for a kind of node.
type Choice struct {
	Environment string `json:"environment"`
	// Platform is the lock's name, Subdir the conda subdir.
	Platform string `json:"platform"`
	Subdir   string `json:"subdir"`
	// ID of the environment; selection leaves it to the caller ("").
	ID string `json:"id,omitempty"`
	// Family and MPI it communicates with, and the network it uses (facts.Network.Kind;
	// "" = not known); Native: with transports of its own, else over TCP.
	Family  stack.Family `json:"family"`
	MPI     string       `json:"mpi,omitempty"`
	Network string       `json:"network,omitempty"`
	Native  bool         `json:"native,omitempty"`
	// Forced: it does not fit, and runs as the user named it (--env-check=warn).
	Forced bool `json:"forced,omitempty"`
	// Site are the variables that the site's rules set on such nodes.
	Site []RuleSetting `json:"site,omitempty"`
}

// plan with a row for each kind and nothing chosen.
func (s *selector) plan() *Plan {
	p := &Plan{Wish: s.wish, Rules: s.rules.digest, CUDA: s.rules.table().Name(), Rows: make([]Row, len(s.kinds))}
	for i, j := range s.kinds {
		r := &p.Rows[i]
		r.Group = *j.group
		if j.rule != nil {
			r.Rule = j.rule.Key
		}
		r.Rejected = j.rejected(nil)
		if len(s.options[i]) == 0 {
			r.Problem = "nothing fits"
			if j.group.Kind.Subdir == "" {
				r.Problem = j.group.Kind.unserved()
			}
		}
	}
	return p
}

func (s *selector) choice(i int, c *judged) Choice {
	out := Choice{
		Environment: c.env.Name, Platform: c.plat.Platform, Subdir: c.plat.Subdir,
		Family: c.plat.Stack.Family, MPI: c.plat.Stack.MPI, Network: c.network, Native: c.native, Forced: c.forced,
	}
	if r := s.rules.settings(&s.kinds[i].group.Kind, s.wish.Partitions); r != nil {
		out.Site = slices.Clone(r.Set)
	}
	return out
}

// give writes into the plan what a kind gets under a wire.
func (s *selector) give(p *Plan, i int, w Wire, mixed int) {
	o := find(s.options[i], w, mixed)
	if o == nil || o.choice < 0 {
		return
	}
	j, r := s.kinds[i], &p.Rows[i]
	c := s.pick(j, o.choice)
	choice := s.choice(i, c)
	r.Choice = &choice
	r.Because = s.because(j, c, mixed)
	r.Warnings = choice.warnings(&j.group.Kind, s.wish.MultiNode, c.reasons)
	r.Unused = s.unusedGPUs(j, c)
	r.Rejected = j.rejected(c)
}

// rejected lists what a kind does not get. Without a choice all reasons are those
// against a candidate itself.
func (j *judgement) rejected(chosen *judged) []Rejected {
	var out []Rejected
	for _, c := range j.cands {
		if c == chosen {
			continue
		}
		r := Rejected{Environment: c.env.Name, Platform: c.plat.Platform, Fits: c.fits, Reasons: slices.Clone(c.reasons), broken: c.plat.Problem != ""}
		if c.fits || c.forced {
			switch {
			case c.barred != "":
				r.Reasons = append(r.Reasons, c.barred)
			case chosen != nil:
				r.Reasons = append(r.Reasons, chosen.beats(c, j))
			}
		}
		out = append(out, r)
	}
	for _, name := range j.without {
		reason := "is not locked for " + j.group.Kind.Subdir
		if j.group.Kind.Subdir == "" {
			reason = j.group.Kind.unserved()
		}
		out = append(out, Rejected{Environment: name, Reasons: []string{reason}})
	}
	slices.SortStableFunc(out, func(a, b Rejected) int { return strings.Compare(a.Environment, b.Environment) })
	return out
}

// Broken tells that it cannot be made at all, wherever.
func (r *Rejected) Broken() bool { return r.broken }

// Text of a rejected alternative, to be read behind its name: "has driver
// 520.61.05, needs …", or "fits, but without GPU".
func (r *Rejected) Text() string {
	reasons := strings.Join(r.Reasons, "; ")
	switch {
	case r.Fits && len(r.Reasons) == 0:
		return "fits"
	case r.Fits && r.Reasons[0] == withoutGPUReason:
		return "fits, but " + reasons
	case r.Fits:
		return "fits; " + reasons
	}
	return reasons
}

// Environments lists what must be there for the plan: every environment with its
// platform, of the rows and of their alternatives, sorted.
func (p *Plan) Environments() []Choice {
	seen := map[string]bool{}
	var out []Choice
	add := func(c *Choice) {
		if c == nil {
			return
		}
		if key := c.Environment + "\x00" + c.Platform; !seen[key] {
			seen[key] = true
			out = append(out, Choice{Environment: c.Environment, Platform: c.Platform, Subdir: c.Subdir, Family: c.Family, MPI: c.MPI})
		}
	}
	for i := range p.Rows {
		add(p.Rows[i].Choice)
		for _, a := range p.Rows[i].Alternatives {
			add(a.Choice)
		}
	}
	slices.SortFunc(out, func(a, b Choice) int {
		if c := strings.Compare(a.Environment, b.Environment); c != 0 {
			return c
		}
		return strings.Compare(a.Platform, b.Platform)
	})
	return out
}

// Fits tells that the plan has nodes that something fits.
func (p *Plan) Fits() bool {
	return slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Problem == "" })
}

// Row of a kind; nil = the plan does not have it.
func (p *Plan) Row(digest string) *Row {
	i, found := slices.BinarySearchFunc(p.Rows, digest, func(r Row, d string) int { return strings.Compare(r.Kind.Digest, d) })
	if !found {
		return nil
	}
	return &p.Rows[i]
}

// String is one line for messages: "default on linux-64".
func (c *Choice) String() string { return fmt.Sprintf("%s on %s", c.Environment, c.Platform) }
