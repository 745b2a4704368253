//go:build linux

package cli

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// checkFlags are what check was asked for.
type checkFlags struct {
	environment string
	all         bool
	// where the node's files and records are, and who answers for its GPUs: for tests
	// and for recorded nodes.
	look checkup.Options
}

const checkLong = `Show whether this host can run an environment of a lock: every check that is made before
a launch, with what was found and what is needed, the verdict, what to do, and who must.

Without an argument the nearest lock upwards counts, and of it the environment that
this host would get, as for hpcenv run; in a job that has an environment, that one.
-e names one, --all checks all of the lock, and ID is an id of ` + "`hpcenv list`" + ` or the
beginning of one. What is not prepared is checked as far as the lock tells; its files
can be looked at when it is (hpcenv prepare).

  fits            as it should be
  unknown         it could not be looked at; a launch goes on
  warn            it will run, worse than it could
  does not fit    it cannot run here: the user's side has to change
  node unhealthy  nothing of the kind can run here until the site's side has changed

What the node is comes from its records, which its boot and Slurm's health check keep,
with their age; without records it is read now, and its GPU driver is asked for at most
15 seconds. Nothing is changed, root is not needed, no code of the environment runs.

In a job the checks count the GPUs that it was given, and look at the variables that its
launcher sets: run it where the program will run. Of several tasks on one node one
answers for all:

  srun hpcenv check
  srun --output=check-%N.json hpcenv check --json

Exit code: 0 it can run here, 3 it cannot, 2 wrong usage. With --all: 0 if one of them
can.`

func (a *app) checkCmd() *cobra.Command {
	f := checkFlags{look: checkup.Options{Env: os.LookupEnv}}
	cmd := &cobra.Command{
		Use:   "check [LOCK|ID]",
		Short: "Show whether this host can run an environment, check by check",
		Long:  checkLong,
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all && f.environment != "" {
				return api.Errorf(api.ExitUsage, "--all and -e %s exclude each other\nnext: leave one of them out", f.environment)
			}
			if !checkup.FirstOfNode(os.LookupEnv) {
				return nil // another task of this node says it
			}
			arg := ""
			if len(args) == 1 {
				arg = args[0]
			}
			return a.check(cmd.Context(), arg, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.environment, "environment", "e", "", "this environment of the lock (default: the one that this host would get)")
	fl.BoolVar(&f.all, "all", false, "all environments of the lock")
	a.choice.add(fl)
	a.addFrozen(cmd)
	fl.BoolVar(&a.json, "json", false, "print one JSON object per node")
	fl.StringVar(&f.look.Root, "root", "/", "")
	fl.StringVar(&f.look.RunDir, "run-dir", helper.DefaultRunDir, "")
	fl.StringVar(&f.look.GPU.Program, "gpu-program", "", "")
	fl.StringVar(&f.look.GPU.Library, "gpu-library", "", "")
	for _, name := range []string{"root", "run-dir", "gpu-program", "gpu-library"} {
		fl.Lookup(name).Hidden = true
	}
	return cmd
}

// checked is an environment, and what the checks on this node say of it.
type checked struct {
	Name     string `json:"environment"`
	Platform string `json:"platform,omitempty"`
	ID       string `json:"id,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
	// Chosen: it is what this host gets where none is named, Because says why.
	Chosen   bool   `json:"chosen,omitempty"`
	Because  string `json:"because,omitempty"`
	Prepared bool   `json:"prepared"`
	// Delivered: what the job's environment is attached as on this node.
	Delivered string `json:"delivered,omitempty"`
	// Verdict is the worst of the findings', the worst of which come first.
	Verdict  preflight.Level     `json:"verdict"`
	Findings []preflight.Finding `json:"findings"`
	// Notes say what could not be looked at as a whole.
	Notes []string `json:"notes,omitempty"`
	// elsewhere are modules for hardware that the host does not have.
	elsewhere []string
}

// can: a launch would go on.
func (c *checked) can() bool {
	return c.Verdict != preflight.Unfit && c.Verdict != preflight.Unhealthy
}

// checkResult is what check prints of one node.
type checkResult struct {
	*checkup.Host
	Lock string `json:"lock,omitempty"`
	// Checked environments; of several the one that the host gets, and then those that
	// can run, come first. None fits: Problem says so.
	Checked []*checked `json:"environments"`
	Problem string     `json:"problem,omitempty"`
	// Verdict is that of the environment that the host gets, or of the only one.
	Verdict preflight.Level `json:"verdict"`
	// Next are commands to go on with.
	Next []string `json:"next,omitempty"`

	// wish has the variables that stand for what the node has.
	wish selection.Wish
	// rules of the site, for its table of drivers and GPUs.
	rules selection.Rules
}

func (a *app) check(ctx context.Context, arg string, f checkFlags) error {
	host := checkup.Look(ctx, f.look)
	r := &checkResult{Host: host}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	if c != nil {
		r.rules = c.Rules
	}
	active := a.activeInJob()
	ofJob := arg == "" && active != nil && !f.all && !a.choice.given() && (f.environment == "" || f.environment == active.name)
	if !ofJob { // a job has those of its submission
		if r.wish.Overrides, err = a.overrides(c); err != nil {
			return err
		}
	}
	switch {
	case arg != "" && !namesLock(arg):
		if f.all || f.environment != "" {
			return api.Errorf(api.ExitUsage, "--environment and --all go with a lock; %s is taken for the id of one environment\nnext: leave them out, or name the lock", arg)
		}
		err = a.checkID(ctx, r, arg)
	case ofJob:
		err = a.checkActive(ctx, r, active)
	default:
		err = a.checkLock(ctx, r, c, arg, f)
	}
	if err != nil {
		return err
	}
	r.conclude(f.all)
	if r.Verdict == preflight.Unfit || r.Verdict == preflight.Unhealthy {
		a.code = api.ExitNoFit
	}
	if a.json {
		return a.checkJSON(r)
	}
	return a.checkText(r, f.all)
}

// sort puts first what the host gets, then what can run.
func (r *checkResult) sort() {
	slices.SortStableFunc(r.Checked, func(x, y *checked) int { return place(x) - place(y) })
}

// conclude finds the verdict.
func (r *checkResult) conclude(all bool) {
	r.sort()
	if len(r.Checked) == 0 {
		r.Verdict = preflight.Unfit
		return
	}
	first := r.Checked[0]
	r.Verdict = first.Verdict
	if i := slices.IndexFunc(r.Checked, (*checked).can); all && i >= 0 {
		r.Verdict = r.Checked[i].Verdict
	}
	if r.Problem != "" && first.can() {
		r.Verdict = preflight.Unfit // each alone fits, and the host gets none of them
	}
}

func place(c *checked) int {
	switch {
	case c.Chosen:
		return 0
	case c.can():
		return 1
	}
	return 2
}
