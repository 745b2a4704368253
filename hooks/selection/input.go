package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// defaultName is the only name of an environment that means something, and only
// as the last tie-break.
const defaultName = "default"

// Input of a selection.
type Input struct {
	// Environments of the lock, in any order.
	Environments []Environment
	// Groups of nodes that the job will run on (Select) or may run on
	// (SelectLater), in any order.
	Groups []Group
	Wish   Wish
	// Rules of the site; the zero value stands for the default table.
	Rules Rules
}

// Group is nodes of one kind.
type Group struct {
	Kind Kind `json:"kind"`
	// Nodes as a hostlist ("gpu[001-096]"), for people; Count of them. Neither has a
	// part in a decision.
	Nodes string `json:"nodes,omitempty"`
	Count int    `json:"count,omitempty"`
}

// name of a group for people: its nodes, or its label.
func (g *Group) name() string {
	switch {
	case g.Nodes != "":
		return g.Nodes
	case g.Kind.Label != "":
		return g.Kind.Label
	}
	return "kind " + g.Kind.Digest
}

// brief is the name within a sentence: "gh" of "gh[01-24]".
func (g *Group) brief() string {
	name := g.name()
	if prefix, rest, ranged := strings.Cut(name, "["); ranged && g.Nodes != "" &&
		prefix != "" && strings.HasSuffix(rest, "]") && !strings.ContainsAny(rest, "[,") {
		return strings.TrimRight(prefix, "-_.")
	}
	return name
}

// Wish is what the user, the job and the project ask for.
type Wish struct {
	// Environment that the user named; "" = none.
	Environment string `json:"environment,omitempty"`
	// GPU: the job asked for GPUs.
	GPU bool `json:"gpu,omitempty"`
	// MultiNode: the job has, or may have, more than one node. Without it every kind
	// gets what is best for it, as one node talks to nobody.
	MultiNode bool `json:"multi_node,omitempty"`
	// Partitions that the job may run in; nil = not known. A rule for partitions
	// counts if it has all of them.
	Partitions []string `json:"partitions,omitempty"`
	// Check is --env-check; "" = strict.
	Check Check `json:"check,omitempty"`
	// Overrides are the CONDA_OVERRIDE_ variables of the submission (Overrides), which
	// stand for what nodes have: the kinds of an Input already are what they make of
	// them. A node looks at these and not at the job's own variables, which --export,
	// or a line of the script that is meant for another tool, may change.
	Overrides map[string]string `json:"overrides,omitempty"`
	// Wire that is pinned already; nil = to be decided.
	Wire *Wire `json:"wire,omitempty"`
}

// Wire is what all nodes of one job have in common: the communication stack, and
// the MPI if there is one, since implementations of MPI do not talk to one another
// over any stack.
type Wire struct {
	Family stack.Family `json:"family"`
	// MPI as stack.Stack has it; an environment without one runs beside any.
	MPI string `json:"mpi,omitempty"`
}

// takes tells whether an environment with this stack may run in a job with w.
func (w Wire) takes(s *stack.Stack) bool {
	return w.Family == s.Family && (s.MPI == "" || s.MPI == w.MPI)
}

func (w Wire) compare(o Wire) int {
	return cmp.Or(strings.Compare(string(w.Family), string(o.Family)), strings.Compare(w.MPI, o.MPI))
}

// String is for people.
func (w Wire) String() string {
	switch {
	case w.MPI == "":
		return familyName(w.Family)
	case w.Family == stack.MPI:
		return w.MPI
	}
	return familyName(w.Family) + " with " + w.MPI
}

// Check says what becomes of an environment that the user named and that does not
// fit a node. What nobody named is always chosen among those that fit.
type Check string

// The modes of --env-check.
const (
	// Strict: it is refused.
	Strict Check = "strict"
	// Warn: it runs, with one warning per node.
	Warn Check = "warn"
	// Off: its requirements are not looked at.
	Off Check = "off"
)

// ParseCheck reads the value of --env-check; "" is Strict. The error is of class
// ErrWish.
func ParseCheck(s string) (Check, error) {
	switch c := Check(s); c {
	case "":
		return Strict, nil
	case Strict, Warn, Off:
		return c, nil
	}
	return "", fmt.Errorf("%w: --env-check=%s is none of strict, warn, off; next: leave it out (strict), or say one of them", ErrWish, s)
}

// canonical returns the environments and groups in an order that does not depend
// on the caller's, each kind once.
func (in *Input) canonical() ([]*Environment, []*Group, error) {
	envs := make([]*Environment, len(in.Environments))
	for i := range in.Environments {
		envs[i] = &in.Environments[i]
	}
	slices.SortFunc(envs, func(a, b *Environment) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(envs); i++ {
		if envs[i].Name == envs[i-1].Name {
			return nil, nil, fmt.Errorf("%w: two environments have the name %q", ErrInput, envs[i].Name)
		}
	}
	if len(envs) == 0 {
		return nil, nil, fmt.Errorf("%w: the lock has no environment", ErrInput)
	}
	if len(in.Groups) == 0 {
		return nil, nil, fmt.Errorf("%w: there is no node to select for; next: check partition, node list and constraint with `hpcenv nodes`", ErrInput)
	}
	groups := make([]*Group, 0, len(in.Groups))
	byDigest := make(map[string]*Group, len(in.Groups))
	for i := range in.Groups {
		g := in.Groups[i]
		if g.Kind.Digest == "" {
			return nil, nil, fmt.Errorf("%w: the nodes %s have no kind digest", ErrInput, g.name())
		}
		if first := byDigest[g.Kind.Digest]; first != nil {
			first.join(&g)
			continue
		}
		byDigest[g.Kind.Digest] = &g
		groups = append(groups, &g)
	}
	slices.SortFunc(groups, func(a, b *Group) int { return strings.Compare(a.Kind.Digest, b.Kind.Digest) })
	return envs, groups, nil
}

// join adds the nodes of another group of the same kind.
func (g *Group) join(more *Group) {
	g.Count += more.Count
	var names []string
	for _, n := range []string{g.Nodes, more.Nodes} {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	g.Nodes = strings.Join(names, ",")
	g.Kind.Label = max(g.Kind.Label, more.Kind.Label)
}
