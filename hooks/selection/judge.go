package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Rejected is an environment that a kind does not get, and why.
type Rejected struct {
	Environment string `json:"environment"`
	// Platform of the lock; "" = it is not locked for such nodes.
	Platform string `json:"platform,omitempty"`
	// Fits: the nodes could run it.
	Fits bool `json:"fits,omitempty"`
	// Reasons in words, to be read behind the nodes' or the environment's name; of a
	// requirement each names the packages that ask.
	Reasons []string `json:"reasons"`

	broken bool // it cannot be made
}

// judged is an environment on one platform, judged for one kind.
type judged struct {
	env  *Environment
	plat *Candidate
	// reasons why it does not fit; forced: it runs all the same.
	reasons []string
	forced  bool
	// fits: it may be taken, barred: not implicitly, and barredBy says why.
	fits   bool
	barred string
	// network it will use; native: with the family's own transports.
	network string
	native  bool
	place   place
	// pos is the platform's place within its environment, where the lock's reader put
	// it by priority.
	pos int
}

// place orders candidates; the smaller comes first.
type place struct {
	forced int // 1 = it does not fit
	rank   int // in the manifest's order
	rule   int // entry of the rule that takes it
	slow   int // 0 = native, or there is no fabric; 1 = over TCP
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.forced, o.forced), cmp.Compare(p.rank, o.rank), cmp.Compare(p.rule, o.rule), cmp.Compare(p.slow, o.slow))
}

// eligible: it may be taken.
func (c *judged) eligible() bool { return (c.fits || c.forced) && c.barred == "" }

func (c *judged) wire() Wire { return Wire{c.plat.Stack.Family, c.plat.Stack.MPI} }

// judgement is one kind with all its candidates.
type judgement struct {
	group *Group
	rule  *Rule
	// cands for the kind's subdir, by environment and platform; without are the
	// names of environments that are not locked for it.
	cands   []*judged
	without []string
}

// judge looks at every environment for one kind.
func (s *selector) judge(g *Group) *judgement {
	j := &judgement{group: g, rule: s.rules.match(&g.Kind, s.wish.Partitions)}
	node := s.node(&g.Kind)
	for _, env := range s.envs {
		found := false
		for i := range env.Platforms {
			plat := &env.Platforms[i]
			if plat.Subdir != g.Kind.Subdir || g.Kind.Subdir == "" {
				continue
			}
			found = true
			c := s.candidate(env, plat, g, node, j.rule)
			c.pos = i
			j.cands = append(j.cands, c)
		}
		if !found {
			j.without = append(j.without, env.Name)
		}
	}
	return j
}

func (s *selector) candidate(env *Environment, plat *Candidate, g *Group, node requirement.Node, rule *Rule) *judged {
	k := &g.Kind
	c := &judged{env: env, plat: plat}
	named := s.wish.Environment == env.Name
	c.network, c.native = reach(&plat.Stack, k)
	c.place = place{rank: math.MaxInt, rule: math.MaxInt}
	if env.Rank > 0 {
		c.place.rank = env.Rank
	}
	if rule != nil {
		c.place.rule = len(rule.phrases)
		if i := slices.IndexFunc(rule.phrases, func(p phrase) bool { return p.takes(env.Name, &plat.Stack) }); i >= 0 {
			c.place.rule = i
		}
	}
	if !c.native && fabric(k) != "" {
		c.place.slow = 1
	}
	switch {
	case plat.Problem != "":
		c.reasons = []string{"cannot be made: " + plat.Problem}
		return c // no mode of checking makes it
	case named && s.wish.Check == Off:
	default:
		c.reasons = s.unmet(plat, k, node)
	}
	c.fits = len(c.reasons) == 0
	if c.forced = !c.fits && named && s.wish.Check == Warn; c.forced {
		c.place.forced = 1
	}
	c.barred = s.barred(env, plat, k, named)
	return c
}

// unmet lists what a kind lacks.
func (s *selector) unmet(plat *Candidate, k *Kind, node requirement.Node) []string {
	var unmet []requirement.Judged
	for i := range plat.Requirements {
		r := &plat.Requirements[i]
		if v := s.check(r, node); !v.OK() {
			unmet = append(unmet, requirement.Judged{Requirement: *r, Verdict: v})
		}
	}
	out := requirement.Texts(unmet, node)
	if plat.Stack.GPU && !k.usableGPU() && len(out) == 0 {
		out = append(out, fmt.Sprintf("has no usable GPU, needs one (%s)", cmp.Or(plat.Stack.GPUPackage, "the manifest's system requirements")))
	}
	if plat.Alignment > 0 && k.PageSize > plat.Alignment {
		out = append(out, fmt.Sprintf("has pages of %d KiB, its programs are laid out for %d KiB (%s)", k.PageSize>>10, plat.Alignment>>10, plat.AlignmentPackage))
	}
	return out
}

// barred tells why an environment is not taken although it may fit.
func (s *selector) barred(env *Environment, plat *Candidate, k *Kind, named bool) string {
	w := &s.wish
	switch {
	case w.Environment != "" && !named:
		return "the user named " + w.Environment
	case w.Wire != nil && !w.Wire.takes(&plat.Stack):
		return fmt.Sprintf("communicates with %s, and the job with %s", Wire{plat.Stack.Family, plat.Stack.MPI}, *w.Wire)
	case named:
		return ""
	case env.Explicit:
		return "is taken only when it is named (it is without the default feature)"
	case w.GPU && !usesGPU(&plat.Stack):
		return withoutGPUReason
	case w.GPU && !k.usableGPU():
		return "the job asks for GPUs, and these nodes have none that can be used"
	}
	return ""
}

const withoutGPUReason = "without GPU"

// check is requirement.Check; kinds that agree on a virtual package share the
// answer.
func (s *selector) check(r *requirement.Requirement, node requirement.Node) requirement.Verdict {
	name, simple := virtualName(r.Spec)
	if !simple && r.Source != requirement.CUDA {
		return requirement.Check(*r, node)
	}
	key := memoKey{spec: r.Spec, source: r.Source, assumed: node.Assumed, compat: r.Compat}
	key.found, key.has = node.Virtuals[name]
	if r.Source == requirement.CUDA || r.Compat != "" {
		key.found, key.has = node.Virtuals["__cuda"]
		key.driver, key.gpus, key.compute = node.Driver, strings.Join(node.GPUs, ","), node.Virtuals["__cuda_arch"]
	}
	if name == "__archspec" {
		key.ancestors = strings.Join(node.Ancestors, " ")
	}
	v, known := s.memo[key]
	if !known {
		v = requirement.Check(*r, node)
		s.memo[key] = v
	}
	return v
}

type memoKey struct {
	spec      string
	source    requirement.Source
	found     requirement.Virtual
	has       bool
	assumed   bool
	ancestors string
	// Of what asks for CUDA.
	compat, driver, gpus string
	compute              requirement.Virtual
}

// virtualName is the name that a spec begins with; simple: the answer depends on
// that virtual package alone.
func virtualName(spec string) (name string, simple bool) {
	end := strings.IndexFunc(spec, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	if end < 0 {
		end = len(spec)
	}
	return spec[:end], strings.HasPrefix(spec, "__") && !strings.ContainsAny(spec, ";[:")
}

func (s *selector) node(k *Kind) requirement.Node {
	n := requirement.Node{Virtuals: make(map[string]requirement.Virtual, len(k.Virtuals)), Ancestors: k.Ancestors, Driver: k.Driver, GPUs: k.Models, CUDA: s.rules.table(), Assumed: k.Assumed}
	for _, v := range k.Virtuals {
		n.Virtuals[v.Name] = v
	}
	return n
}

// usableGPU: there is a GPU that environments can use, which is what __cuda says
// (and CONDA_OVERRIDE_CUDA); on nodes that nobody looked at, any.
func (k *Kind) usableGPU() bool {
	return k.GPU && k.Assumed || slices.ContainsFunc(k.Virtuals, func(v requirement.Virtual) bool { return v.Name == "__cuda" })
}

// fabric is the fastest network of a kind that is more than Ethernet; "" = none,
// or not known.
func fabric(k *Kind) string {
	for _, n := range k.Networks {
		if n != facts.Ethernet {
			return n
		}
	}
	return ""
}

// network of a kind: its fabric, else Ethernet, else "" (not known).
func network(k *Kind) string {
	if f := fabric(k); f != "" || len(k.Networks) == 0 {
		return f
	}
	return facts.Ethernet
}

// reach tells over which network a stack talks to the other nodes, and whether
// with transports of its own.
func reach(s *stack.Stack, k *Kind) (string, bool) {
	if s.Family != stack.None {
		for _, n := range k.Networks {
			if n != facts.Ethernet && slices.Contains(s.Networks, n) {
				return n, true
			}
		}
	}
	return network(k), false
}
