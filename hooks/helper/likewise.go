package helper

import (
	"fmt"
	"io"
	"slices"

	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// tell says once on the node what the user should know of a launch that goes on. What
// follows from the kind of node alone the first node of a kind says for the others.
func (f *activateFlags) tell(stderr io.Writer, l *launched, lines []launch.Line, env func(string) (string, bool)) {
	all, stepOnly := f.warns(l.pin, env), f.step == "0" && !f.batch
	for _, line := range lines {
		if !all && !(stepOnly && line.OfStep) {
			continue // the job's script has said it, or its first step
		}
		who, first, others := nodeName(), true, 0
		if line.ByKind {
			first, others = f.likewise(l, env, !line.OfStep)
		}
		if line.ByKind && others > 0 {
			who += fmt.Sprintf(" (and %d more nodes of its kind)", others)
		}
		if !line.ByKind || first {
			fmt.Fprintf(stderr, "hpcenv: %s: %s\n", who, line.Text)
		}
	}
}

// likewise tells whether this node is the first of its kind in the step, and how many
// others there are, by what was known of the nodes when the job was submitted. Where
// that is not known, each node speaks for itself. With spoken, the job's script has spoken
// for its own node.
func (f *activateFlags) likewise(l *launched, env func(string) (string, bool), spoken bool) (first bool, others int) {
	list, _ := env("SLURM_STEP_NODELIST")
	names, err := hostlist.Expand(list)
	if f.batch || err != nil || len(names) < 2 || l.on.node == nil {
		return true, 0
	}
	c, err := planning.ReadClusterAt(l.on.node.cluster, l.pin.Snapshot)
	if err != nil {
		return true, 0
	}
	c.Override(l.pin.Plan.Wish.Override)
	host := ""
	if spoken && !l.pin.Step {
		host = batchHost(env)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		k := c.KindOf(name)
		return name == host || k == nil || k.Digest != l.on.node.kind.Digest
	})
	at := slices.Index(names, nodeName())
	if at < 0 {
		return true, 0 // it is of another kind now
	}
	return at == 0, len(names) - 1
}

// batchHost is the node of the job's script; "" = the job has none, or it is not known
// which it is.
func batchHost(env func(string) (string, bool)) string {
	if kind, _ := env("ENVIRONMENT"); kind != "BATCH" {
		return ""
	}
	if _, het := env("SLURM_HET_SIZE"); het {
		return "" // the first node of a component need not be the batch script's
	}
	list, _ := env("SLURM_JOB_NODELIST")
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return ""
	}
	return names[0]
}
