package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// because says why a kind gets a candidate: what decided, in a few words.
func (s *selector) because(j *judgement, c *judged, mixed int) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case c.forced:
		add("it was named, and the check only warns")
	case s.wish.Environment != "":
		add("it was named")
	case mixed > 0:
		add("rule %s", s.mixed.Key)
	}
	others := j.eligible(func(o *judged) bool { return o.env != c.env })
	family := c.plat.Stack.Family
	// What people expect without looking is default; where it does not use the fabric
	// they are told so, elsewhere what does.
	slow := slices.IndexFunc(others, func(o *judged) bool {
		return c.native && o.env.Name == defaultName && o.place.slow > 0 && o.plat.Stack.Family != family && o.plat.Stack.Family != stack.None
	})
	switch {
	case slow >= 0:
		add("%s would fall back to TCP", familyName(others[slow].plat.Stack.Family))
	case c.native:
		add("%s drives %s", familyName(family), NetworkLabel(c.network))
	case family != stack.None && fabric(&j.group.Kind) != "":
		add("%s over TCP: it does not drive %s", familyName(family), NetworkLabel(c.network))
	case family != stack.None && c.network == facts.Ethernet:
		add("%s over TCP", familyName(family))
	}
	if len(parts) == 0 && !j.group.Kind.usableGPU() && !c.plat.Stack.GPU {
		add("needs no GPU")
	}
	if s.wish.Environment == "" && mixed == 0 {
		if last := j.decisive(c, others); last != "" {
			add("%s", last)
		}
	}
	if len(parts) == 0 {
		switch {
		case usesGPU(&c.plat.Stack) && j.group.Kind.usableGPU():
			add("uses the GPU")
		case j.rule != nil && c.place.rule < len(j.rule.phrases):
			add("rule %s", j.rule.Key)
		default:
			add("fits")
		}
	}
	return strings.Join(parts, "; ")
}

// decisive says what put a candidate before all others, where that is not plain
// from the networks.
func (j *judgement) decisive(c *judged, others []*judged) string {
	if len(others) == 0 {
		return "nothing else fits"
	}
	next := slices.MinFunc(others, func(a, b *judged) int { return a.place.compare(b.place) })
	switch {
	case c.place.rank != next.place.rank:
		return "the manifest's order"
	case c.place.rule != next.place.rule && j.rule != nil && j.rule.site:
		return "rule " + j.rule.Key
	case c.place == next.place && c.env.Name == defaultName:
		return "it is default"
	}
	return ""
}

// beats says why another candidate that fits was not taken.
func (c *judged) beats(o *judged, j *judgement) string {
	family := familyName(o.plat.Stack.Family)
	switch {
	case !o.native && o.place.slow > 0 && o.plat.Stack.Family != stack.None && c.native:
		return family + " would fall back to TCP"
	case c.env == o.env:
		return "the platform " + c.plat.Platform + " suits these nodes better"
	case c.place.rank < o.place.rank:
		return "comes later in the manifest's order"
	case c.place.rule < o.place.rule:
		return fmt.Sprintf("rule %s prefers %s", j.rule.Key, j.rule.phrases[c.place.rule])
	case c.place.slow < o.place.slow:
		return "drives no fabric"
	case c.place == o.place && c.env.Name == defaultName:
		return "as good as default, which comes first"
	}
	return "the other nodes of the job run " + c.wire().String()
}

// warnings of a choice on a kind; both plan and node make them, the same from the
// same facts.
func (c *Choice) warnings(k *Kind, multiNode bool, unmet []string) []string {
	var out []string
	if c.Forced {
		if len(unmet) == 0 {
			unmet = []string{"what it lacks is shown by hpcenv plan"}
		}
		out = append(out, fmt.Sprintf("%s does not fit: %s", c.Environment, strings.Join(unmet, "; ")))
	}
	if multiNode && c.Family != stack.None && !c.Native {
		switch fabric := fabric(k); {
		case fabric != "":
			out = append(out, fmt.Sprintf("%s (%s) has no transport for %s: its nodes talk over TCP", c.Environment, familyName(c.Family), NetworkLabel(fabric)))
		case len(k.Networks) > 0:
			// Without GPUs Ethernet is what is expected; the reason says TCP.
			if k.usableGPU() {
				out = append(out, fmt.Sprintf("%s (%s) talks over TCP: there is only Ethernet", c.Environment, familyName(c.Family)))
			}
		case !k.Assumed:
			out = append(out, fmt.Sprintf("%s (%s): no network was found on these nodes", c.Environment, familyName(c.Family)))
		}
	}
	if k.Assumed {
		out = append(out, "these nodes were never looked at: what they have is taken from Slurm's features and GRES")
	}
	return out
}

// unusedGPUs says why a kind with GPUs gets an environment that does not use them, if
// that is because of what the nodes lack.
func (s *selector) unusedGPUs(j *judgement, c *judged) string {
	if s.wish.Environment != "" || !j.group.Kind.usableGPU() || usesGPU(&c.plat.Stack) {
		return ""
	}
	var lacking *judged
	for _, o := range j.cands {
		switch {
		case !usesGPU(&o.plat.Stack) || o.barred != "":
		case o.fits:
			return "" // a rule's choice, or the manifest's
		case lacking == nil || o.env.Name == defaultName:
			lacking = o
		}
	}
	if lacking == nil {
		return ""
	}
	return fmt.Sprintf("%s leaves the GPUs unused, since nothing that uses them fits: %s %s", c.env.Name, lacking.env.Name, strings.Join(lacking.reasons, "; "))
}

// warnFabrics says where nodes of a decided job drive different fabrics: between
// them there is TCP at best.
func (s *selector) warnFabrics(p *Plan) []string {
	on := map[string][]string{}
	for i := range p.Rows {
		if c := p.Rows[i].Choice; c != nil && c.Native {
			on[c.Network] = append(on[c.Network], p.Rows[i].brief())
		}
	}
	if len(on) < 2 {
		return nil
	}
	var parts []string
	for _, network := range networkCodes {
		if names := on[network]; names != nil {
			slices.Sort(names)
			parts = append(parts, fmt.Sprintf("%s (%s)", NetworkLabel(network), strings.Join(slices.Compact(names), ", ")))
		}
	}
	return []string{fmt.Sprintf("between nodes of %s there is no common fabric: %s has TCP there, if it can", strings.Join(parts, " and "), p.Wire)}
}

// warnApart says which kinds an undecided job must not have together.
func (s *selector) warnApart(p *Plan) {
	if _, _, out := resolve(s.fitting()); out == decided {
		return
	}
	failed := s.fail(ErrFamilies, p)
	on := map[Wire][]string{}
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Choice != nil {
			w := Wire{r.Choice.Family, r.Choice.MPI}
			on[w] = append(on[w], r.brief())
		}
	}
	wires, names := briefly(p)
	var parts []string
	for i, w := range wires {
		slices.Sort(on[w])
		parts = append(parts, fmt.Sprintf("%s on %s", names[i], strings.Join(slices.Compact(on[w]), ", ")))
	}
	text := "a job whose nodes would communicate differently is refused when it starts: " + strings.Join(parts, " / ")
	if options := failed.Options(); len(options) > 0 {
		text += "; next: " + strings.Join(options, "; ")
	}
	p.Warnings = append(p.Warnings, text)
}

func (s *selector) fitting() [][]option {
	var out [][]option
	for _, o := range s.options {
		if len(o) > 0 {
			out = append(out, o)
		}
	}
	return out
}
