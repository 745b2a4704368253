package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/plain"
	"github.com/hpcenv/hpcenv/internal/shellword"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// planFlags are what plan was asked for.
type planFlags struct {
	where            planning.Where
	job, environment string
	gpu              bool
	verbose, rules   bool
}

func (a *app) planCmd() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan [PATH]",
		Short: "Show which environment of a lock each kind of node gets, and why",
		Long: `Show which environment of a lock each kind of node gets, and why; whether one job
over all of them is possible; what is prepared already; and which variables are set for
a network. Nothing is changed. PATH is a
lock or a directory with one; without it, the nearest lock upwards counts.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.rules {
				return a.printRules()
			}
			path, err := onePath(args, "")
			if err != nil {
				return err
			}
			return a.plan(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.where.Partition, "partition", "p", "", "nodes of these partitions")
	fl.StringVarP(&f.where.Nodes, "nodelist", "w", "", "these nodes, e.g. gpu[001-004]")
	fl.StringVarP(&f.where.Exclude, "exclude", "x", "", "not these nodes")
	fl.StringVarP(&f.where.Constraint, "constraint", "C", "", "nodes with these features")
	fl.StringVar(&f.job, "job", "", "where a job of Slurm runs, or may run")
	fl.StringVarP(&f.environment, "environment", "e", "", "as if this environment were named")
	fl.BoolVar(&f.gpu, "gpus", false, "as if the job asked for GPUs")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "also what was not chosen, and why")
	fl.BoolVar(&f.rules, "rules", false, "print the site's rules, with the default ones, as JSON")
	a.addFrozen(cmd)
	fl.BoolVar(&a.json, "json", false, "print one JSON object")
	return cmd
}

func (a *app) printRules() error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	var r selection.Rules
	if c != nil {
		r = c.Rules
	}
	return a.printJSON(r.Table())
}

func (a *app) plan(ctx context.Context, path string, f planFlags) error {
	req, err := a.request(path, nil, false)
	if err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	if c == nil {
		return api.Errorf(api.ExitUnreachable, "nothing is known here of a cluster's nodes\nnext: hpcenv prepare, which asks Slurm; on a host without Slurm there is nothing to plan")
	}
	if f.job != "" {
		if f.where, err = a.whereOf(ctx, f); err != nil {
			return err
		}
	}
	overrides, err := a.overrides(c)
	if err != nil {
		return err
	}
	names, why, err := c.Names(f.where)
	if errors.Is(err, planning.ErrWhere) {
		return api.Errorf(api.ExitUsage, "%v\nnext: hpcenv nodes lists them", err)
	}
	if err != nil {
		return err
	}
	for _, w := range why {
		fmt.Fprintln(a.stderr, "note:", w)
	}
	d, err := a.described(req)
	if err != nil {
		return err
	}
	if d == nil {
		d = planning.OfWish(req.Environments[0], c.Subdirs(names))
	}
	if d, err = a.sharpened(d, req); err != nil {
		return err
	}
	groups, _ := c.Groups(names)
	o, err := planning.Plan(d, groups, c.Rules, selection.Wish{Environment: f.environment, GPU: f.gpu, Partitions: partitionsOf(f.where), Overrides: overrides})
	if err != nil {
		return api.Errorf(api.ExitUsage, "%s: %v", req.LockPath, err)
	}
	conf, err := a.conf()
	if err != nil {
		return err
	}
	ready := func(choice *selection.Choice) (bool, error) {
		return planning.Ready(prepared.Store{Root: conf.Store}, lockDigest(req.Lock), choice)
	}
	if a.json {
		return a.planJSON(o, ready)
	}
	return a.planTable(o, ready, req, f)
}

// partitionsOf are those that were named.
func partitionsOf(w planning.Where) []string {
	if w.Partition == "" {
		return nil
	}
	return strings.Split(w.Partition, ",")
}

// whereOf is where a job runs, or else may run.
func (a *app) whereOf(ctx context.Context, f planFlags) (planning.Where, error) {
	if f.where != (planning.Where{}) {
		return f.where, api.Errorf(api.ExitUsage, "--job and -p, -w, -x or -C exclude each other\nnext: leave one of them out")
	}
	j, err := queries.Client{}.Job(ctx, f.job)
	if errors.Is(err, queries.ErrNoJob) {
		return f.where, api.Errorf(api.ExitUsage, "%v\nnext: squeue lists the jobs that Slurm knows", err)
	}
	if err != nil {
		return f.where, api.Errorf(api.ExitUnreachable, "%v\nnext: try again when slurmctld answers (scontrol ping)", err)
	}
	if j.Nodes != "" {
		return planning.Where{Nodes: j.Nodes}, nil
	}
	return planning.Where{Partition: j.Partition, Nodes: j.Required, Exclude: j.Excluded, Constraint: j.Features}, nil
}

// planRow is a row of the plan as JSON.
type planRow struct {
	selection.Row
	Ready bool `json:"ready"`
	// Variables that are set on such nodes.
	Variables []selection.Setting `json:"variables,omitempty"`
}

func (a *app) planJSON(o *planning.Overview, ready func(*selection.Choice) (bool, error)) error {
	out := struct {
		Rows     []planRow `json:"rows"`
		CUDA     string    `json:"cuda"`
		Together bool      `json:"together"`
		Reason   string    `json:"reason,omitempty"`
		Options  []string  `json:"options,omitempty"`
		Error    string    `json:"error,omitempty"`
	}{Together: o.Together, Reason: o.Reason, Options: o.Options, Rows: []planRow{}, CUDA: o.Plan.CUDA}
	if o.Why != nil {
		out.Error = o.Why.Sentence()
	}
	for _, r := range sortedRows(o.Plan) {
		row := planRow{Row: *r}
		if r.Choice != nil {
			var err error
			if row.Ready, err = ready(r.Choice); err != nil {
				return err
			}
			row.Variables = r.Choice.Settings(nil, nil)
		}
		out.Rows = append(out.Rows, row)
	}
	if err := a.printJSON(out); err != nil {
		return err
	}
	if o.Why != nil {
		a.code = api.ExitNoFit
	}
	return nil
}

func (a *app) planTable(o *planning.Overview, ready func(*selection.Choice) (bool, error), req *api.PrepareRequest, f planFlags) error {
	missing := false
	seen := func(choice *selection.Choice) (string, error) {
		ok, err := ready(choice)
		if ok {
			return "yes", err
		}
		missing = true
		return "no", err
	}
	if err := a.matrix(o, seen); err != nil {
		return err
	}
	if len(o.Plan.Environments()) == 0 {
		a.code = api.ExitNoFit
		return a.unplanned(req.LockPath, o.Why)
	}
	a.details(o, f.verbose)
	if o.Reason != "" {
		what := "all"
		if len(o.Plan.Rows) == 2 {
			what = "both"
		}
		line := "one job over " + what + ": " + o.Reason
		if len(o.Options) > 0 {
			line += "; " + strings.Join(o.Options, "; ")
		}
		fmt.Fprintln(a.stdout, line)
	}
	next := "sbatch --env-lock=" + shellword.Quote(a.fromHere(req.LockPath))
	switch {
	case missing && f.environment != "":
		next = "hpcenv prepare -e " + shellword.Quote(f.environment)
	case missing:
		next = "hpcenv prepare"
	case f.environment != "":
		next += " --env-name=" + shellword.Quote(f.environment)
	case f.where.Nodes != "" && o.Reason != "" && !o.Together && len(o.Common) > 0:
		// As it is, a job over all these nodes is refused.
		next += " --env-name=" + shellword.Quote(o.Common[0].Environment)
	}
	if !missing {
		next += placeOptions(f.where) + " job.sh"
	}
	_, err := fmt.Fprintln(a.stdout, "next:", next)
	return err
}

// placeOptions are sbatch's for a place.
func placeOptions(w planning.Where) string {
	out := ""
	for _, o := range []struct{ option, value string }{{"-p", w.Partition}, {"-w", w.Nodes}, {"-x", w.Exclude}, {"-C", w.Constraint}} {
		if o.value != "" {
			out += " " + o.option + " " + shellword.Quote(o.value)
		}
	}
	return out
}

// sortedRows are a plan's rows by the names of their nodes.
func sortedRows(p *selection.Plan) []*selection.Row {
	out := make([]*selection.Row, len(p.Rows))
	for i := range p.Rows {
		out[i] = &p.Rows[i]
	}
	slices.SortFunc(out, func(a, b *selection.Row) int { return hostlist.Compare(a.Nodes, b.Nodes) })
	return out
}

// matrix prints what each kind of node gets. ready says whether it is prepared; nil
// leaves that out.
func (a *app) matrix(o *planning.Overview, ready func(*selection.Choice) (string, error)) error {
	out := a.stdout
	if ready == nil {
		out = a.stderr // part of what prepare tells
	}
	w := tabwriter.NewWriter(plain.Writer{W: out}, 0, 0, 2, ' ', 0)
	if ready != nil {
		fmt.Fprintln(w, "nodes\tkind\tenvironment\tplatform\tready\tbecause")
	}
	labels := kindLines(o.Plan)
	for _, r := range sortedRows(o.Plan) {
		environment, platform, state, because := "-", "-", "-", r.Problem
		if c := r.Choice; c != nil {
			environment, platform, because = c.Environment, c.Platform, r.Because
			if ready != nil {
				var err error
				if state, err = ready(c); err != nil {
					return err
				}
			}
		}
		if ready == nil {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", r.Nodes, labels[r.Kind.Digest], environment, platform)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Nodes, labels[r.Kind.Digest], environment, platform, state, because)
	}
	return w.Flush()
}

// details prints what the matrix has no room for.
func (a *app) details(o *planning.Overview, all bool) {
	said := map[string][]string{} // what is set → the nodes
	var order []string
	for _, r := range sortedRows(o.Plan) {
		if r.Choice == nil || all {
			names, texts := map[string][]string{}, []string(nil) // what is to be said of several is said once
			for i := range r.Rejected {
				x := &r.Rejected[i]
				if names[x.Text()] == nil {
					texts = append(texts, x.Text())
				}
				names[x.Text()] = append(names[x.Text()], x.Environment)
			}
			for _, text := range texts {
				fmt.Fprintf(a.stdout, "  %s: not %s: %s\n", r.Nodes, strings.Join(names[text], ", "), text)
			}
		}
		if r.Unused != "" {
			fmt.Fprintf(a.stdout, "  %s: warning: %s\n", r.Nodes, r.Unused)
		}
		for _, w := range r.Warnings {
			if !r.Kind.Assumed || all {
				fmt.Fprintf(a.stdout, "  %s: warning: %s\n", r.Nodes, w)
			}
		}
		if r.Choice != nil {
			for _, s := range r.Choice.Settings(nil, nil) {
				text := fmt.Sprintf("%s=%s: %s", s.Name, s.Value, s.Because)
				if said[text] == nil {
					order = append(order, text)
				}
				said[text] = append(said[text], r.Nodes)
			}
		}
	}
	for _, text := range order {
		fmt.Fprintf(a.stdout, "  %s: sets %s\n", strings.Join(said[text], ","), text)
	}
}
