package planning

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/scope"
)

// Overview is a plan for people who have not submitted anything yet: what each kind of
// node gets by itself, and whether one job could have them all.
type Overview struct {
	// Plan has a row for each kind, with what a job on nodes of that kind alone gets.
	Plan *selection.Plan `json:"plan"`
	// Why there is no plan, as a whole or of some kinds; nil = every kind gets something.
	// Its class and table are selection.Error's.
	Why *selection.Error `json:"-"`
	// Together: one job can have nodes of all kinds. Reason says with what, or why not;
	// "" where there is one kind.
	Together bool     `json:"together"`
	Reason   string   `json:"reason,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Common are environments that one job over all of them could be given by name, the
	// best first, where it is not possible otherwise.
	Common []selection.Common `json:"common,omitempty"`
}

// Plan makes an overview of groups of nodes. Errors: those of a selection that say
// nothing of nodes (selection.ErrInput, ErrWish, ErrRules).
func Plan(d *Description, groups []selection.Group, rules selection.Rules, wish selection.Wish) (*Overview, error) {
	in := selection.Input{Environments: d.Environments, Groups: groups, Rules: rules, Wish: wish}
	in.Wish.MultiNode = true
	out := new(Overview)
	var err error
	if out.Plan, err = selection.SelectLater(in); err != nil {
		if !errors.As(err, &out.Why) {
			return nil, err
		}
		out.Plan = out.Why.Plan
	}
	if len(out.Plan.Rows) < 2 {
		return out, nil
	}
	all, err := selection.Select(in)
	var why *selection.Error
	switch {
	case err == nil:
		out.Together = true
		out.Reason = "yes"
		if all.Wire != nil && all.Wire.Family != "" {
			out.Reason += " (" + all.Wire.String() + ")"
		}
		for i := range all.Rows {
			r := &all.Rows[i]
			if alone := out.Plan.Row(r.Kind.Digest); alone != nil && alone.Choice != nil && r.Choice != nil && alone.Choice.Environment != r.Choice.Environment {
				out.Reason += fmt.Sprintf("; then %s on %s (%s)", r.Choice.Environment, r.Nodes, r.Because)
			}
		}
		for _, w := range all.Warnings {
			out.Reason += "; " + w
		}
	case errors.As(err, &why):
		out.Reason, out.Options, out.Common = "no: "+why.Sentence(), why.Options(), why.Common
		if why.Class == selection.ErrFamilies {
			out.Reason = "no (" + why.Stacks() + ")"
		}
	default:
		return nil, err
	}
	return out, nil
}

// Ready tells whether what a choice needs is published, in the store or in a part of it
// that this process may read.
func Ready(store prepared.Store, lockDigest string, c *selection.Choice) (bool, error) {
	parts, err := store.Parts()
	if err != nil {
		return false, err
	}
	for _, s := range append([]prepared.Store{store}, parts...) {
		env, err := s.Environment(lockDigest, c.Environment)
		var unknown *prepared.UnknownEnvironmentError
		if errors.As(err, &unknown) || err == nil && env == nil {
			continue
		}
		if err != nil {
			return false, err
		}
		if has, err := s.Has(env, c.Subdir); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// Where is what a plan is asked for; the zero value is the whole cluster.
type Where struct {
	// Partition, Nodes, Exclude and Constraint as sbatch takes them.
	Partition, Nodes, Exclude, Constraint string
}

// Names are the nodes that are meant, as sbatch would understand it. why says what
// could not be understood.
func (c *Cluster) Names(w Where) (names, why []string, err error) {
	if w == (Where{}) {
		return c.All(), nil, nil
	}
	args := []string{"sbatch"}
	add := func(option, value string) {
		if value != "" {
			args = append(args, "--"+option+"="+value)
		}
	}
	for _, list := range []struct{ option, nodes string }{{"-w", w.Nodes}, {"-x", w.Exclude}} {
		if err := c.areNodes(list.option, list.nodes); err != nil {
			return nil, nil, err
		}
	}
	if w.Partition == "" { // not the default one alone: a plan is of the cluster
		add("partition", strings.Join(c.partitions(), ","))
	}
	add("partition", w.Partition)
	add("nodelist", w.Nodes)
	add("exclude", w.Exclude)
	add("constraint", w.Constraint)
	for _, p := range strings.Split(w.Partition, ",") {
		if p != "" && !c.hasPartition(p) {
			return nil, nil, fmt.Errorf("%w: there is no partition %q; there are %s", ErrWhere, p, strings.Join(c.partitions(), ", "))
		}
	}
	s := scope.Of(scope.Submission{Program: "sbatch", Args: append(args, "--wrap=true")}, c.Scope())
	if s.None {
		return nil, nil, fmt.Errorf("%w: %s", ErrWhere, strings.Join(s.Why, "; "))
	}
	if err := c.within(w); err != nil {
		return nil, nil, err
	}
	return s.Nodes, s.Why, nil
}

// areNodes checks the nodes that an option names.
func (c *Cluster) areNodes(option, list string) error {
	if list == "" || strings.Contains(list, "/") {
		return nil // a file of nodes: scope reads it as Slurm does
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrWhere, option, list, err)
	}
	if _, unknown := c.Groups(names); len(unknown) > 0 {
		return fmt.Errorf("%w: the cluster has no node %s (%s)", ErrWhere, hostlist.Compress(unknown), option)
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: %s %s names no node", ErrWhere, option, list)
	}
	return nil
}

// within checks that the nodes that are named are in the partitions that are.
func (c *Cluster) within(w Where) error {
	if w.Nodes == "" || w.Partition == "" || strings.Contains(w.Nodes, "/") {
		return nil
	}
	names, err := hostlist.Expand(w.Nodes)
	if err != nil {
		return fmt.Errorf("%w: -w %s: %w", ErrWhere, w.Nodes, err)
	}
	in := strings.Split(w.Partition, ",")
	var out []string
	for _, n := range c.nodes {
		if slices.Contains(names, n.Name) && !slices.ContainsFunc(n.Partitions, func(p string) bool { return slices.Contains(in, p) }) {
			out = append(out, n.Name)
		}
	}
	if len(out) > 0 {
		return fmt.Errorf("%w: %s (-w) is not in partition %s", ErrWhere, hostlist.Compress(out), w.Partition)
	}
	return nil
}

// ErrWhere: what was asked for is not on the cluster.
var ErrWhere = errors.New("not on the cluster")

func (c *Cluster) hasPartition(name string) bool {
	for _, p := range c.Snapshot.Partitions {
		if p.Name == name {
			return true
		}
	}
	return false
}

func (c *Cluster) partitions() (names []string) {
	for _, p := range c.Snapshot.Partitions {
		names = append(names, p.Name)
	}
	return names
}
