//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/smoke"
)

// smokeFlags are what smoke was asked for.
type smokeFlags struct {
	where       planning.Where
	environment string
	// check is --env-check.
	check       string
	here, all   bool
	wait, limit time.Duration
	minutes     int
	cpus        int
	// srun are further options of it.
	srun []string
}

const smokeLong = `Try an environment out on every kind of node that the cluster has: one short job per kind,
on any node of it, imports the top-level modules of the environment's packages and
opens the files that programs open at run time (the modules of UCX, libfabric, MPI …),
each in a process of its own. Private names and tests are left out. PATH is a lock or a
directory with one; without it, the nearest lock upwards counts.

Each job gets what a job there gets (hpcenv plan), and runs as you do: by srun --env-lock,
within the limits of its job. Options of srun that your site demands go behind --:

  hpcenv smoke -p gpu,gh -- --account=p123 --qos=short

It has to be prepared (hpcenv prepare), and hpcenv installed on the nodes where it is
here. Nothing is left in the queue, also when it is interrupted. --here tries it on this
host, without Slurm, and within a job on the job's own node.

A module that fails is reported with the last line of its error; where a check before a
launch (hpcenv check) knows a reason, that is told, too.

Exit code: 0 all modules work, 1 one does not, 3 no kind of node fits, 4 a job did not
start in time (--wait), 2 wrong usage.`

func (a *app) smokeCmd() *cobra.Command {
	f := smokeFlags{}
	cmd := &cobra.Command{
		Use:   "smoke [PATH] [-- SRUN_OPTION...]",
		Short: "Import and open every module of an environment, on each kind of node",
		Long:  smokeLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, f.srun = args[:n], args[n:]
			}
			if err := usageArgs(cobra.MaximumNArgs(1))(cmd, args); err != nil {
				return err
			}
			path, err := onePath(args, "")
			if err != nil {
				return err
			}
			if f.here && (f.where != (planning.Where{}) || len(f.srun) > 0) {
				return api.Errorf(api.ExitUsage, "--here starts no job: -p, -w, -x, -C and options of srun do not go with it\nnext: leave them out")
			}
			if f.minutes < 1 || f.cpus < 1 || f.limit <= 0 || f.wait <= 0 {
				return api.Errorf(api.ExitUsage, "--time, --cpus, --limit and --wait must be more than 0\nnext: %s --help", cmd.CommandPath())
			}
			if _, err := selection.ParseCheck(f.check); err != nil {
				return api.Errorf(api.ExitUsage, "%v", err)
			}
			return a.smoke(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.environment, "environment", "e", "", "this environment (default: what each kind of node gets)")
	fl.StringVarP(&f.where.Partition, "partition", "p", "", "nodes of these partitions")
	fl.StringVarP(&f.where.Nodes, "nodelist", "w", "", "these nodes, e.g. gpu[001-004]")
	fl.StringVarP(&f.where.Exclude, "exclude", "x", "", "not these nodes")
	fl.StringVarP(&f.where.Constraint, "constraint", "C", "", "nodes with these features")
	fl.StringVar(&f.check, "env-check", "", "of an environment that is named and does not fit: strict (refuse), warn or off (try it all the same) (default: as for srun and hpcenv run)")
	fl.BoolVar(&f.here, "here", false, "on this host only, without a job")
	fl.DurationVar(&f.wait, "wait", 10*time.Minute, "how long each job may wait for a node")
	fl.IntVarP(&f.minutes, "time", "t", 15, "time limit of each job in minutes")
	fl.DurationVar(&f.limit, "limit", smoke.DefaultLimit, "how long a module may take")
	fl.IntVarP(&f.cpus, "cpus", "c", 1, "processors of each job: as many modules are tried at a time")
	fl.BoolVarP(&f.all, "verbose", "v", false, "also list the modules that work")
	a.choice.add(fl)
	a.addFrozen(cmd)
	fl.BoolVar(&a.json, "json", false, "print one JSON object")
	return cmd
}

// How a kind of node came out.
const (
	smokeOK = "ok"
	// smokeFailed: modules do not work.
	smokeFailed = "failed"
	// smokeNoFit: nothing of the lock fits, or the launch was refused.
	smokeNoFit = "does not fit"
	// smokeLate: no node was to be had in time, or it is not prepared.
	smokeLate = "not tried"
	// smokeBroken: the job did not do it.
	smokeBroken = "broken off"
)

// smoked is one kind of node.
type smoked struct {
	Nodes string `json:"nodes,omitempty"`
	Kind  string `json:"kind,omitempty"`
	// Node that it was tried on, "" = none, and the job.
	Node        string `json:"node,omitempty"`
	Job         string `json:"job,omitempty"`
	Environment string `json:"environment,omitempty"`
	Platform    string `json:"platform,omitempty"`
	ID          string `json:"id,omitempty"`
	// State is one of the words above, Problem says why no module was tried, or not all.
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Modules are how many there are.
	Modules  int                 `json:"modules"`
	Results  []smoke.Result      `json:"results"`
	Findings []preflight.Finding `json:"findings,omitempty"`
	Notes    []string            `json:"notes,omitempty"`

	// partition of the job.
	partition string
}

// name of a kind in tables: its nodes, else the node.
func (k *smoked) name() string {
	if k.Nodes != "" {
		return k.Nodes
	}
	return k.Node
}

func (a *app) smoke(ctx context.Context, path string, f smokeFlags) error {
	var named []string
	if f.environment != "" {
		named = []string{f.environment}
	}
	req, err := a.request(path, named, false)
	if err != nil {
		return err
	}
	if len(req.Environments) > 1 {
		return api.Errorf(api.ExitUsage, "-e %s names several environments; one is tried at a time\nnext: leave the others out", f.environment)
	}
	if len(req.Environments) == 1 {
		f.environment = req.Environments[0]
	}
	var kinds []*smoked
	if f.here {
		one := &smoked{Results: []smoke.Result{}}
		kinds = []*smoked{one}
		err = a.smokeHere(ctx, one, req, f)
	} else {
		kinds, err = a.smokeKinds(ctx, req, f)
	}
	if err != nil {
		return err
	}
	a.code = smokeCode(kinds)
	if a.json {
		return a.printJSON(struct {
			Lock  string    `json:"lock"`
			Kinds []*smoked `json:"kinds"`
		}{req.LockPath, kinds})
	}
	return a.smokeText(kinds, f)
}

// smokeCode is the exit code for what came out.
func smokeCode(kinds []*smoked) int {
	has := func(state string) bool {
		return slices.ContainsFunc(kinds, func(k *smoked) bool { return k.State == state })
	}
	switch {
	case has(smokeFailed), has(smokeBroken):
		return api.ExitFailed
	case has(smokeLate):
		return api.ExitLate
	case has(smokeOK):
		return api.ExitDone
	}
	return api.ExitNoFit
}

// smokeKinds runs a job on every kind of node, at the same time.
func (a *app) smokeKinds(ctx context.Context, req *api.PrepareRequest, f smokeFlags) ([]*smoked, error) {
	jobs, err := a.smokeJobs(ctx, req, f)
	if err != nil {
		return nil, err
	}
	var waits sync.WaitGroup
	var mu sync.Mutex
	var failed error
	kinds := make([]*smoked, len(jobs))
	for i, j := range jobs {
		kinds[i] = j.kind
		if j.kind.State != "" {
			continue // it is known already that there is nothing to run
		}
		waits.Go(func() {
			if err := a.smokeJob(ctx, j, req, f); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	waits.Wait()
	if ctx.Err() != nil {
		return nil, api.Errorf(api.ExitFailed, "interrupted; its jobs were cancelled")
	}
	return kinds, failed
}

// take what a node told.
func (k *smoked) take(r *smoke.Report) {
	if b := r.Begin; b != nil {
		k.Node, k.Job, k.ID, k.Modules = b.Node, b.Job, b.ID, b.Modules
		k.Platform = b.Platform
		if b.Environment != "" {
			k.Environment = b.Environment
		}
	}
	k.Results = append(k.Results, r.Results...)
	slices.SortStableFunc(k.Results, func(x, y smoke.Result) int {
		if x.How != y.How {
			return strings.Compare(x.How, y.How)
		}
		return strings.Compare(x.Name, y.Name)
	})
	if r.End != nil {
		k.Findings, k.Notes = r.End.Findings, r.End.Notes
	}
	switch {
	case slices.ContainsFunc(k.Results, func(x smoke.Result) bool { return !x.OK }):
		k.State = smokeFailed
	case r.Begin != nil && r.End != nil:
		k.State = smokeOK
	}
}

// unfinished says of a kind that not all was tried, and why.
func (k *smoked) unfinished(r *smoke.Report, why string) {
	if r != nil && r.End != nil {
		return
	}
	k.Problem = why
	if r != nil && r.Begin != nil {
		k.Problem = fmt.Sprintf("%s after %d of %d modules", why, len(r.Results), r.Begin.Modules)
	}
	if k.State == "" || k.State == smokeOK {
		k.State = smokeBroken
	}
}

// ownProgram is this one, as nodes have it, too.
func ownProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("own program: %w", err)
	}
	return self, nil
}
