package selection

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// PinnedPlan is a plan as it travels in a pin: for each kind an index of what it
// gets, so that a node needs nothing but its own facts.
type PinnedPlan struct {
	// Decided: Wire holds for the whole job. AloneEach: every kind has its own, as the
	// job has one node.
	Decided   bool
	AloneEach bool
	Wire      Wire
	// Wish and the digest of the rules, for kinds that the plan does not have.
	Wish  Wish
	Rules string
	// Names of nodes by the digest of their kind, for messages; it does not travel.
	Names map[string]string

	choices []Choice
	// site are the variables of the site's rules, each row once.
	site [][]RuleSetting
	// sets are the options of a kind, each once; index of a kind by its digest.
	sets []pinnedSet
	kind map[string]int
}

// pinnedSet is what kinds of one row have in common.
type pinnedSet struct {
	options []option
	site    int // index in site, from 1; 0 = none
}

// Pin makes the form that travels. id gives each choice the id of its environment;
// nil = none. Options without a choice stay away, but for what an undecided plan
// needs to say that several are equally good. The error is of class ErrPinned: a
// digest that is none.
func (p *Plan) Pin(id func(*Choice) string) (*PinnedPlan, error) {
	out := &PinnedPlan{Decided: p.Wire != nil, AloneEach: p.Wire == nil && !p.Undecided, Wish: p.Wish, Rules: p.Rules, kind: map[string]int{}}
	if p.Wire != nil {
		out.Wire = *p.Wire
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if raw, err := hex.DecodeString(r.Kind.Digest); err != nil || len(raw) != kindBytes {
			return nil, fmt.Errorf("%w: the digest of the nodes %s, %q, is not %d hex digits", ErrPinned, r.name(), r.Kind.Digest, 2*kindBytes)
		}
		var set pinnedSet
		switch {
		case p.Undecided:
			for _, a := range r.Alternatives {
				o := option{wire: a.Wire, choice: -1, preferred: a.Preferred, isDefault: a.Default, mixed: a.Mixed}
				if a.Choice != nil {
					o.choice = out.intern(a.Choice, id)
					set.site = out.internSite(a.Choice.Site)
				}
				set.options = append(set.options, o)
			}
		case r.Choice != nil:
			w := Wire{r.Choice.Family, r.Choice.MPI}
			if p.Wire != nil {
				w = *p.Wire
			}
			set.options = []option{{wire: w, choice: out.intern(r.Choice, id), preferred: true}}
			set.site = out.internSite(r.Choice.Site)
		}
		out.kind[r.Kind.Digest] = out.internSet(set)
	}
	return out, nil
}

func (p *PinnedPlan) intern(c *Choice, id func(*Choice) string) int {
	own := *c
	own.Site = nil
	if id != nil {
		own.ID = id(c)
	}
	same := func(o Choice) bool {
		return o.Environment == own.Environment && o.Platform == own.Platform && o.Subdir == own.Subdir && o.ID == own.ID &&
			o.Network == own.Network && o.Native == own.Native && o.Forced == own.Forced && o.Family == own.Family && o.MPI == own.MPI
	}
	if i := slices.IndexFunc(p.choices, same); i >= 0 {
		return i
	}
	p.choices = append(p.choices, own)
	return len(p.choices) - 1
}

func (p *PinnedPlan) internSite(site []RuleSetting) int {
	if len(site) == 0 {
		return 0
	}
	if i := slices.IndexFunc(p.site, func(o []RuleSetting) bool { return slices.Equal(o, site) }); i >= 0 {
		return i + 1
	}
	p.site = append(p.site, slices.Clone(site))
	return len(p.site)
}

func (p *PinnedPlan) internSet(set pinnedSet) int {
	same := func(o pinnedSet) bool {
		return o.site == set.site && slices.EqualFunc(o.options, set.options, option.equal)
	}
	if i := slices.IndexFunc(p.sets, same); i >= 0 {
		return i
	}
	p.sets = append(p.sets, set)
	return len(p.sets) - 1
}

// Resolve decides an undecided plan for a job whose nodes are of these kinds
// (digests, in any order). Kinds that the plan does not have decide for themselves
// under the wire that the others have. A plan that is decided is returned as it
// is. The error is of class ErrFamilies, ErrAmbiguous, ErrNoFit or ErrPinned.
func (p *PinnedPlan) Resolve(digests []string) (*PinnedPlan, error) {
	if p.Decided || p.AloneEach {
		return p, nil
	}
	var kinds []string
	var sets [][]option
	for _, d := range slices.Compact(slices.Sorted(slices.Values(digests))) {
		i, known := p.kind[d]
		if !known {
			continue
		}
		if len(p.sets[i].options) == 0 {
			return nil, p.unfit(d)
		}
		kinds, sets = append(kinds, d), append(sets, p.sets[i].options)
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%w: none of the job's nodes is of a kind that was there when it was submitted; next: submit it again", ErrUndecided)
	}
	wires, mixed, out := resolve(sets)
	switch out {
	case ambiguous:
		return nil, fmt.Errorf("%w on the nodes that the job got (%s); next: name one with --env-name", ErrAmbiguous, p.names(kinds))
	case apart:
		return nil, fmt.Errorf("%w: %s; next: --env-name=NAME of one that all have (hpcenv plan shows them), or --constraint for nodes of one kind", ErrFamilies, p.describe(kinds))
	}
	w := wires[0]
	done := *p
	done.Decided, done.Wire = true, w
	done.sets, done.kind = nil, map[string]int{}
	for d, i := range p.kind {
		set := pinnedSet{site: p.sets[i].site}
		// Kinds that the job has not got keep what they would have under the wire: a
		// requeue may reach them.
		o := find(p.sets[i].options, w, mixed)
		if o == nil {
			o = find(p.sets[i].options, w, 0)
		}
		if o != nil && o.choice >= 0 {
			set.options = []option{{wire: w, choice: o.choice, preferred: true}}
		}
		done.kind[d] = done.internSet(set)
	}
	return &done, nil
}

// describe says which kinds would have what.
func (p *PinnedPlan) describe(kinds []string) string {
	var parts []string
	for _, d := range kinds {
		var names []string
		for _, o := range p.sets[p.kind[d]].options {
			if o.preferred && o.choice >= 0 {
				names = append(names, fmt.Sprintf("%s (%s)", p.choices[o.choice].Environment, o.wire))
			}
		}
		parts = append(parts, fmt.Sprintf("%s has %s", p.names([]string{d}), strings.Join(slices.Compact(names), " or ")))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// names are the nodes of kinds, for people, or their digests.
func (p *PinnedPlan) names(kinds []string) string {
	var out []string
	for _, d := range kinds {
		if n := p.Names[d]; n != "" {
			out = append(out, n)
		} else {
			out = append(out, "kind "+d)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (p *PinnedPlan) unfit(digest string) error {
	why := "when the job was submitted"
	if p.Decided {
		why = fmt.Sprintf("that communicates with %s, as the job's other nodes do", p.Wire)
	}
	return fmt.Errorf("%w %s %s; next: --exclude these nodes, or hpcenv plan for what fits them", ErrNoFit, p.names([]string{digest}), why)
}

// kindBytes is the length of a kind's digest.
const kindBytes = 8

// wireVersion of PinnedPlan's JSON.
const wireVersion = 1

// pinnedJSON is the compact form. Environments, platforms and wires are numbered.
type pinnedJSON struct {
	Version int    `json:"v"`
	Mode    string `json:"m,omitempty"` // "d" decided, "a" each alone, "" undecided
	Wire    int    `json:"w,omitempty"` // of wires, if decided
	Rules   string `json:"r"`
	// Of the wish.
	Named      string   `json:"n,omitempty"`
	GPU        bool     `json:"g,omitempty"`
	MultiNode  bool     `json:"u,omitempty"`
	Partitions []string `json:"q,omitempty"`
	Check      Check    `json:"k,omitempty"`
	Overrides  []string `json:"x,omitempty"` // NAME=VALUE

	Environments []string   `json:"e"`
	IDs          []string   `json:"i,omitempty"` // base64 of the id, or text; by choice
	Platforms    []string   `json:"p"`           // "subdir" or "name=subdir"
	Wires        []string   `json:"f"`           // "UCX" or "UCX/openmpi 5"
	Site         [][]string `json:"s,omitempty"` // NAME=VALUE
	// Choices, 5 bytes each: environment, platform, own wire, flags and network, id
	// from 1.
	Choices []byte `json:"c"`
	// Sets: a byte for the site's row from 1, one for the number of options; an option
	// has 4 bytes: choice from 1 (2), wire, flags.
	Sets []byte `json:"o"`
	// Kinds: digests of 8 bytes, each with 2 bytes of its set.
	Kinds []byte `json:"d"`
}

const (
	flagPreferred = 1 << iota
	flagDefault
	flagShift = iota // mixed follows
)

const (
	flagNative = 1 << iota
	flagForced
	networkShift = iota
)

var b64 = base64.RawStdEncoding

// number interns a text.
func number(list *[]string, text string) int {
	if i := slices.Index(*list, text); i >= 0 {
		return i
	}
	*list = append(*list, text)
	return len(*list) - 1
}

func wireText(w Wire) string {
	if w.MPI == "" {
		return string(w.Family)
	}
	return string(w.Family) + "/" + w.MPI
}

func textWire(s string) Wire {
	family, mpi, _ := strings.Cut(s, "/")
	return Wire{stack.Family(family), mpi}
}

// MarshalJSON writes the compact form; the same plan gives the same bytes.
func (p *PinnedPlan) MarshalJSON() ([]byte, error) {
	j := pinnedJSON{
		Version: wireVersion, Rules: p.Rules, Named: p.Wish.Environment, GPU: p.Wish.GPU,
		MultiNode: p.Wish.MultiNode, Partitions: p.Wish.Partitions, Check: p.Wish.Check,
		Overrides: pinOverrides(p.Wish.Overrides),
	}
	switch {
	case p.Decided:
		j.Mode = "d"
		j.Wire = number(&j.Wires, wireText(p.Wire))
	case p.AloneEach:
		j.Mode = "a"
	}
	if j.Check == Strict {
		j.Check = ""
	}
	var b packer
	for i := range p.choices {
		c := &p.choices[i]
		platform := c.Platform
		if c.Platform != c.Subdir {
			platform += "=" + c.Subdir
		}
		flags := max(slices.Index(networkCodes, c.Network), 0) << networkShift // one that has no number is not known
		if c.Native {
			flags |= flagNative
		}
		if c.Forced {
			flags |= flagForced
		}
		id := 0
		if c.ID != "" {
			id = 1 + number(&j.IDs, packID(c.ID))
		}
		b.put(number(&j.Environments, c.Environment), number(&j.Platforms, platform), number(&j.Wires, wireText(Wire{c.Family, c.MPI})), flags, id)
	}
	j.Choices = b.take()
	for _, row := range p.site {
		var texts []string
		for _, s := range row {
			texts = append(texts, s.Name+"="+s.Value)
		}
		j.Site = append(j.Site, texts)
	}
	for _, set := range p.sets {
		b.put(set.site, len(set.options))
		for _, o := range set.options {
			flags := o.mixed << flagShift
			if o.preferred {
				flags |= flagPreferred
			}
			if o.isDefault {
				flags |= flagDefault
			}
			b.put((o.choice+1)>>8, (o.choice+1)&0xff, number(&j.Wires, wireText(o.wire)), flags)
		}
	}
	j.Sets = b.take()
	for _, d := range slices.Sorted(maps.Keys(p.kind)) {
		raw, err := hex.DecodeString(d)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPinned, err)
		}
		b.bytes = append(b.bytes, raw...)
		b.put(p.kind[d]>>8, p.kind[d]&0xff)
	}
	j.Kinds = b.take()
	if b.over {
		return nil, fmt.Errorf("%w: it has more environments, kinds or variables than can be numbered", ErrPinned)
	}
	return json.Marshal(j)
}

// packer writes numbers as bytes.
type packer struct {
	bytes []byte
	over  bool // one was too large
}

func (b *packer) put(numbers ...int) {
	for _, n := range numbers {
		b.over = b.over || n < 0 || n > 0xff
		b.bytes = append(b.bytes, byte(n))
	}
}

func (b *packer) take() []byte {
	out := b.bytes
	b.bytes = nil
	return out
}

// packID shortens an id of hex digits.
func packID(id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil || hex.EncodeToString(raw) != id {
		return "=" + id
	}
	return b64.EncodeToString(raw)
}

func unpackID(s string) (string, error) {
	if text, plain := strings.CutPrefix(s, "="); plain {
		return text, nil
	}
	raw, err := b64.DecodeString(s)
	return hex.EncodeToString(raw), err
}
