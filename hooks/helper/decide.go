package helper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// decision is what this node does beyond attaching the pin's Choice.
type decision struct {
	// settings are variables for its network.
	settings map[string]string
	// warnings for the user, once on the node.
	warnings []string
	// facts of the node; node reads what else may be asked of it. Nil = the pin has no
	// plan, and nothing was looked at.
	facts *facts.Facts
	node  *decider
	// forced: it does not fit, which warnings tell, and was wanted all the same.
	forced bool
	// told: the submission chose for this kind of node, and said what is to be said of
	// the choice. What a step of its own chose, or what is chosen here, nobody has told.
	told bool
}

// decide makes what this node gets the pin's Choice: from the node's own facts, which
// record holds, and the pin. It talks to nobody. A plan that left the communication
// stack open is decided from the job's nodes, by every node alike. env is a lookup of
// the job's variables.
func decide(ctx context.Context, p *pin.Pin, store, record string, env func(string) (string, bool)) (*decision, error) {
	if p.Plan == nil {
		return new(decision), nil
	}
	f, _ := facts.Load(ctx, record) // without a record they were read now
	kind := selection.KindOf(f, p.Plan.Wish.Override)
	n := &decider{pin: p, root: p.Within(store), cluster: store, kind: &kind}
	if p.Store != "" {
		n.cluster = p.Store
	}
	open := !p.Plan.Decided && !p.Plan.AloneEach
	if err := n.resolve(env); err != nil {
		return nil, n.refusal(err)
	}
	d, err := p.Plan.Decide(&kind, n.load)
	if err == nil && d.Fresh {
		err = n.changed(d)
	}
	if err != nil {
		return nil, n.refusal(err)
	}
	if !p.Take(d.Environment) {
		return nil, refuse(api.ExitLate, "this node (%s) was not there, or was another one, when the job was submitted: it gets %s of %s, which was not prepared for it; next: submit again", kind.Label, d.Environment, orUnknown(p.LockPath))
	}
	out := &decision{settings: map[string]string{}, facts: f, node: n, told: !open && !d.Fresh && !p.Step}
	for _, s := range d.Settings(nil, env) {
		if !s.Kept {
			out.settings[s.Name] = s.Value
		}
	}
	if d.Forced {
		out.warnings, out.forced = d.Warnings, true
	}
	return out, nil
}

// decider reads what a decision may need beside facts and pin.
type decider struct {
	pin *pin.Pin
	// root is the part of the store that has the lock, cluster the store itself.
	root, cluster string
	kind          *selection.Kind
}

// resolve decides an open plan by the kinds of the job's nodes as they were known when
// it was submitted.
func (n *decider) resolve(env func(string) (string, bool)) error {
	if n.pin.Plan.Decided || n.pin.Plan.AloneEach {
		return nil
	}
	list, ok := env("SLURM_JOB_NODELIST")
	if !ok {
		return refuse(api.ExitFailed, "the communication stack of this job is to be decided by its nodes, and SLURM_JOB_NODELIST does not say which they are; next: submit again with --env-name=NAME")
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return refuse(api.ExitFailed, "SLURM_JOB_NODELIST: %w", err)
	}
	c, err := planning.ReadClusterAt(n.cluster, n.pin.Snapshot)
	if err != nil {
		return refuse(api.ExitUnreachable, "the cluster's nodes as they were when the job was submitted: %w; next: submit again", err)
	}
	c.Override(n.pin.Plan.Wish.Override)
	var digests []string
	of := map[string][]string{}
	for _, name := range names {
		if k := c.KindOf(name); k != nil {
			digests = append(digests, k.Digest)
			of[k.Digest] = append(of[k.Digest], name)
		}
	}
	n.pin.Plan.Names = map[string]string{}
	for digest, names := range of {
		n.pin.Plan.Names[digest] = hostlist.Compress(names)
	}
	done, err := n.pin.Plan.Resolve(digests)
	if err == nil {
		n.pin.Plan = done
	}
	return err
}

// load reads what a kind is selected from that the plan does not have.
func (n *decider) load(rules string) (*selection.Loaded, error) {
	if n.pin.Description == "" && !n.pin.Wish {
		return nil, refuse(api.ExitLate, "what %s asks of nodes is not in the store; next: hpcenv prepare, and submit again", orUnknown(n.pin.LockPath))
	}
	r, err := planning.ReadRules(n.cluster, rules)
	if err != nil {
		return nil, err
	}
	if n.pin.Wish {
		return n.loaded(planning.OfWish(n.pin.Environment, n.pin.Platforms), r), nil
	}
	data, err := prepared.Store{Root: n.root, Patient: true}.Description(n.pin.Lock, n.pin.Description)
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "what the lock asks of nodes: %w; next: submit again", err)
	}
	d, err := planning.Decode(data)
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "%w; next: tell the administrator", err)
	}
	return n.loaded(d, r), nil
}

// loaded is a description with what the environments' files show, as a submission has it.
func (n *decider) loaded(d *planning.Description, r selection.Rules) *selection.Loaded {
	return &selection.Loaded{Environments: d.Sharpened(prepared.Store{Root: n.root}, n.pin.Lock).Environments, Rules: r}
}

// changed is the error of a node that was looked at before the job was submitted, has
// changed since, and now would get something else.
func (n *decider) changed(d *selection.Decision) error {
	c, err := planning.ReadClusterAt(n.cluster, n.pin.Snapshot)
	if err != nil {
		return nil // what was known is gone; the fresh decision fits, and that is what counts
	}
	c.Override(n.pin.Plan.Wish.Override)
	before := c.KindOf(nodeName())
	if before == nil || before.Assumed {
		return nil
	}
	return n.pin.Plan.Changed(before.Digest, d)
}

// refusal gives a selection's errors their exit codes.
func (n *decider) refusal(err error) error {
	var v *verdict
	if errors.As(err, &v) {
		return err
	}
	code := api.ExitFailed
	for _, class := range []error{selection.ErrNoFit, selection.ErrChanged, selection.ErrFamilies, selection.ErrAmbiguous} {
		if errors.Is(err, class) {
			code = api.ExitNoFit
		}
	}
	lock := fmt.Sprintf("%s (%s)", orUnknown(n.pin.LockPath), short(n.pin.Lock))
	if errors.Is(err, selection.ErrNoFit) {
		if table := n.reasons(); table != nil {
			return refuse(code, "%s: nothing of it that the job may have fits this node (%s)\n  %s; next: keep the job off such nodes (--exclude, --constraint; `hpcenv plan` shows which), or submit it for them",
				lock, n.kind.Label, strings.Join(table, "\n  "))
		}
	}
	return refuse(code, "%s: %w", lock, err)
}

// reasons why this node gets nothing, a line for each environment; nil = what the lock
// asks of nodes is not to be had here.
func (n *decider) reasons() []string {
	loaded, err := n.load(n.pin.Plan.Rules)
	if err != nil {
		return nil
	}
	in := selection.Input{
		Environments: loaded.Environments, Rules: loaded.Rules, Wish: n.pin.Plan.Wish,
		Groups: []selection.Group{{Kind: *n.kind, Nodes: nodeName(), Count: 1}},
	}
	if n.pin.Plan.Decided {
		in.Wish.Wire = &n.pin.Plan.Wire
	}
	_, err = selection.Select(in)
	var why *selection.Error
	if !errors.As(err, &why) {
		return nil
	}
	return why.Table()
}
