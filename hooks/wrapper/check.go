package wrapper

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/facts"
	launching "github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/look"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// checkLimit bounds the checks before a launch; a driver that must be asked has its own
// bound below.
const checkLimit = 8 * time.Second

// checking is what the checks of a launch need to know; it travels with the job.
type checking struct {
	// Mode is --env-check as it was given; "" = what the surrounding job or the site has.
	Mode selection.Check
	// What is launched, for messages, and where it is described.
	What         string
	Store        prepared.Store
	ID, Platform string
}

func (r *resolved) checking(o Options) *checking {
	return &checking{Mode: o.Check, What: fmt.Sprintf("%s of %s", o.Environment, o.Request.LockPath),
		Store: prepared.Store{Root: r.store, Group: r.group}, ID: r.meta.ID, Platform: o.Platform}
}

// run checks that this host can run what was activated: env are the variables of the
// program. The error, a refusal, says why not and what to do.
func (c *checking) run(ctx context.Context, prefix string, env []string, stderr io.Writer) error {
	lookup := launching.Lookup(env)
	if c == nil || !checkup.FirstOfNode(lookup) {
		return nil
	}
	// In a job it is the job's choice, unless the command says another.
	var job *pin.Pin
	if wire, ok := lookup(pin.Variable); ok {
		job, _ = pin.Decode(wire) // one that cannot be read says nothing of how strict to be
	}
	node, _ := lookup("SLURMD_NODENAME")
	label := "hpcenv: "
	if node != "" {
		label += node + ": "
	}
	policy, err := launching.PolicyOf(job, lookup)
	if err != nil {
		fmt.Fprintf(stderr, "%snote: %v\n", label, err)
	}
	_, inJob := lookup("SLURM_JOB_ID")
	switch {
	case c.Mode != "":
		policy.Check = c.Mode
	case !inJob && policy.Check == selection.Strict:
		// A login host need not be like the nodes that the environment is for: there who
		// names one gets it.
		policy.Check = selection.Warn
	}
	if policy.Check == selection.Off {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	o := launching.Options{Node: node, RunDir: launching.RunDir, Prefix: prefix, Env: lookup}
	if job != nil && job.Plan != nil {
		o.Override = job.Plan.Wish.Override
	} else {
		o.Override = os.LookupEnv
	}
	n, _ := lookup("SLURM_JOB_NUM_NODES")
	o.MultiNode = n != "" && n != "1"
	_, step := lookup("SLURM_STEP_GPUS")
	o.Batch = node != "" && !step
	o.Facts, _ = facts.Load(ctx, filepath.Join(o.RunDir, facts.RecordFile)) // without a record they are read now
	if o.Needs, err = launching.Needs(c.Store, c.ID, c.Platform); err != nil {
		fmt.Fprintf(stderr, "%snote: %v\n", label, err)
	}
	out := policy.Judge(launching.Examine(ctx, o))
	for _, line := range out.Lines(nil) {
		fmt.Fprintln(stderr, label+line.Text)
	}
	id, _ := lookup("SLURM_JOB_ID")
	reported := out.Unhealthy && inJob && look.Leave(o.RunDir, id) == nil
	if len(out.Refused) == 0 {
		return nil
	}
	text := out.Refusal(launching.Place{What: c.What, Node: node, Reported: reported})
	if node != "" {
		text = node + ": " + text
	}
	return api.Errorf(api.ExitNoFit, "%s", strings.ReplaceAll(text, "; next: ", "\nnext: "))
}
