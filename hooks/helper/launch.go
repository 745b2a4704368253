package helper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/look"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// preflightLimit bounds the checks of a launch; a driver that must be asked has its own
// bound below.
const preflightLimit = 8 * time.Second

// launched is an activated environment that is about to run.
type launched struct {
	pin   *pin.Pin
	on    *decision
	place *place
	// env looks up variables after activation.
	env func(string) (string, bool)
}

// preflight checks that this node can run what was activated, as strictly as the job,
// the step and the site say. It returns what the user is to be told of a launch that
// goes on; the error is a refusal.
func (f *activateFlags) preflight(ctx context.Context, l *launched) ([]launch.Line, error) {
	var told []launch.Line
	note := func(err error) {
		if err != nil {
			told = append(told, launch.Line{Text: "note: " + err.Error()})
		}
	}
	for _, w := range l.on.warnings {
		told = append(told, launch.Line{Text: "warning: " + w, ByKind: true})
	}
	policy, err := launch.PolicyOf(l.pin, os.LookupEnv)
	note(err)
	if policy.Check == selection.Off {
		return told, nil
	}
	ctx, cancel := context.WithTimeout(ctx, preflightLimit)
	defer cancel()
	o := launch.Options{
		Node: nodeName(), RunDir: f.runDir, Facts: l.on.facts, Prefix: l.place.prefix, Env: l.env, Batch: f.batch, Script: f.batch, Command: f.command,
	}
	if p := l.pin.Plan; p != nil {
		o.Override, o.MultiNode = p.Wish.Override, p.Wish.MultiNode
	}
	if o.Facts == nil {
		o.Facts, _ = facts.Load(ctx, filepath.Join(f.runDir, facts.RecordFile)) // without a record they are read now
	}
	if nodes, ok := l.env("SLURM_JOB_NODELIST"); ok {
		o.SameHost, err = l.pin.SameHostAs(o.Node, nodes)
		note(err)
	}
	o.Needs, err = launch.Needs(l.place.files, l.pin.ID, hostPlatform())
	note(err)
	if n := l.on.node; n != nil && o.Needs != nil && (o.Needs.Stack.GPU || o.Needs.Stack.UsesGPU) {
		rules, err := planning.ReadRules(n.cluster, l.pin.Plan.Rules)
		note(err)
		o.CUDA = rules.CUDA()
	}
	out := policy.Judge(launch.Examine(ctx, o))
	if l.on.forced {
		out.Chosen()
	}
	if l.on.told {
		out.Told()
	}
	told = append(told, out.Lines(told)...)
	reported := out.Unhealthy && look.Leave(f.runDir, f.job) == nil
	if len(out.Refused) == 0 {
		return told, nil
	}
	at := launch.Place{
		What: fmt.Sprintf("%s of %s (%s)", l.pin.Environment, orUnknown(l.pin.LockPath), short(l.pin.Lock)),
		Node: nodeName(), Reported: reported,
	}
	if out.OfKind() {
		first, _ := f.likewise(l, os.LookupEnv, false)
		at.Briefly = !first
	}
	if l.on.node != nil && !at.Briefly {
		at.Names, at.Fitting = l.on.node.fitting(l.pin.Environment)
	}
	return nil, refuse(api.ExitNoFit, "%s", out.Refusal(at))
}

// fitting are the other environments of the lock that fit this node, by name and with
// what is to be said of them.
func (n *decider) fitting(but string) (names, said []string) {
	loaded, err := n.load(n.pin.Plan.Rules)
	if err != nil {
		return nil, nil
	}
	for i := range loaded.Environments {
		name := loaded.Environments[i].Name
		wish := n.pin.Plan.Wish
		wish.Environment, wish.Check, wish.Wire = name, selection.Strict, nil
		plan, err := selection.Select(selection.Input{
			Environments: loaded.Environments, Rules: loaded.Rules, Wish: wish,
			Groups: []selection.Group{{Kind: *n.kind, Nodes: nodeName(), Count: 1}},
		})
		if name == but || err != nil || len(plan.Rows) != 1 || plan.Rows[0].Choice == nil {
			continue
		}
		text := name
		if wish.GPU && !n.usesGPU(&loaded.Environments[i]) {
			text += " (without GPU)"
		}
		names, said = append(names, name), append(said, text)
	}
	return names, said
}

// usesGPU tells whether an environment can use this node's GPUs.
func (n *decider) usesGPU(env *selection.Environment) bool {
	for i := range env.Platforms {
		if p := &env.Platforms[i]; p.Subdir == n.kind.Subdir && (p.Stack.GPU || p.Stack.UsesGPU) {
			return true
		}
	}
	return false
}
