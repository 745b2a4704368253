package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// cluster is what the store says of the cluster's nodes; nil = nothing yet, or there is
// no cluster but this host.
func (a *app) cluster() (*planning.Cluster, error) {
	c, err := a.conf()
	if err != nil || c.Store == "" {
		return nil, err
	}
	found, err := planning.ReadCluster(c.Store)
	switch {
	case errors.Is(err, snapshot.ErrNone):
		return nil, nil
	case err != nil:
		return nil, api.Errorf(api.ExitUnreachable, "%v\nnext: tell the administrator", err)
	case found.Snapshot.Cluster == "":
		return nil, nil
	}
	return found, nil
}

// overrides are the CONDA_OVERRIDE_ variables of this process; they make the nodes of
// the cluster (nil = there is none) what they stand for, as for a submission. That they
// are set is said, of all ranks by the first.
func (a *app) overrides(c *planning.Cluster) (map[string]string, error) {
	set, err := selection.Overrides(os.LookupEnv)
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "%v", err)
	}
	note := selection.OverrideNote(set)
	if note == "" {
		return nil, nil
	}
	if c != nil {
		wish := selection.Wish{Overrides: set}
		c.Override(wish.Override)
	}
	if rank := a.getenv("SLURM_PROCID"); rank == "" || rank == "0" {
		fmt.Fprintln(a.stderr, "hpcenv: note:", note)
	}
	return set, nil
}

// clusterNow is cluster; where nothing is known yet, the service asks Slurm.
func (a *app) clusterNow(ctx context.Context, svc api.Service) (*planning.Cluster, error) {
	c, err := a.cluster()
	if c != nil || err != nil {
		return c, err
	}
	if _, err := svc.Status(ctx); err != nil {
		return nil, err
	}
	return a.cluster()
}

// described is what the lock of a request asks of nodes; nil of a lock that names no
// environments.
func (a *app) described(req *api.PrepareRequest) (*planning.Description, error) {
	if project.OpenPython("", req.Lock) != nil {
		return nil, nil
	}
	d, err := planning.Remembered(req.Lock, lockDigest(req.Lock), a.project, planning.Memory())
	if err != nil {
		return nil, aboutLock(service.OfLock(err, req.Lock), req.LockPath)
	}
	req.Description, _, err = d.Encode()
	return d, err
}

// sharpened is a description with what the files of published environments ask of nodes.
func (a *app) sharpened(d *planning.Description, req *api.PrepareRequest) (*planning.Description, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	return d.Sharpened(prepared.Store{Root: c.Store}, lockDigest(req.Lock)), nil
}

// planned completes a request in which no environment is named: with what the kinds of
// node of the cluster get. The requests are one for each set of platforms.
func (a *app) planned(ctx context.Context, svc api.Service, req *api.PrepareRequest, d *planning.Description) ([]*api.PrepareRequest, error) {
	same := []*api.PrepareRequest{req}
	if d == nil || req.All || req.Offline || len(req.Environments) > 0 || len(req.Platforms) > 0 || len(d.Environments) == 1 {
		return same, nil
	}
	c, err := a.clusterNow(ctx, svc)
	if c == nil || err != nil {
		return same, err
	}
	overrides, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	if d, err = a.sharpened(d, req); err != nil {
		return nil, err
	}
	groups, _ := c.Groups(c.All())
	o, err := planning.Plan(d, groups, c.Rules, selection.Wish{Overrides: overrides})
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "%s: %v", req.LockPath, err)
	}
	choices := o.Plan.Environments()
	if len(choices) == 0 {
		return nil, a.unplanned(req.LockPath, o.Why)
	}
	if !a.json {
		fmt.Fprintln(a.stderr, header(req.Lock))
		a.headed = true
		if err := a.matrix(o, nil); err != nil {
			return nil, err
		}
		for _, r := range sortedRows(o.Plan) {
			if r.Unused != "" {
				fmt.Fprintf(a.stderr, "warning: %s: %s\n", r.Nodes, r.Unused)
			}
		}
	}
	var order []string
	subdirs := map[string][]string{}
	for _, choice := range choices {
		name := choice.Environment
		if subdirs[name] == nil {
			order = append(order, name)
		}
		if !slices.Contains(subdirs[name], choice.Subdir) {
			subdirs[name] = append(subdirs[name], choice.Subdir)
		}
	}
	var out []*api.PrepareRequest
	for _, name := range order {
		i := slices.IndexFunc(out, func(r *api.PrepareRequest) bool { return slices.Equal(r.Platforms, subdirs[name]) })
		if i >= 0 {
			out[i].Environments = append(out[i].Environments, name)
			continue
		}
		one := *req
		one.Environments, one.Platforms = []string{name}, subdirs[name]
		out = append(out, &one)
	}
	for _, one := range out {
		if one.Activations, err = a.activations(one.Environments); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unplanned is the error of a lock of which no kind of node gets anything.
func (a *app) unplanned(lock string, why *selection.Error) error {
	if why == nil {
		return api.Errorf(api.ExitNoFit, "%s: no kind of node gets anything of it\nnext: hpcenv plan", lock)
	}
	text := lock + ": " + why.Sentence()
	for _, line := range why.Table() {
		text += "\n  " + line
	}
	next := "hpcenv prepare -e NAME makes an environment all the same"
	if options := why.Options(); len(options) > 0 {
		next = options[0]
	}
	return api.Errorf(api.ExitNoFit, "%s\nnext: %s", text, next)
}

// together adds up what several requests ended with.
func together(results []*api.PrepareResult) *api.PrepareResult {
	sum := *results[0]
	for _, r := range results[1:] {
		sum.Environments = append(sum.Environments, r.Environments...)
		sum.Skipped = append(sum.Skipped, r.Skipped...)
		sum.PackagesKept += r.PackagesKept
		sum.PackagesNew += r.PackagesNew
		sum.BytesFetched += r.BytesFetched
		sum.Seconds += r.Seconds
		for _, n := range r.Notes {
			if !slices.Contains(sum.Notes, n) {
				sum.Notes = append(sum.Notes, n)
			}
		}
		sum.Private = sum.Private || r.Private
		if sum.DryRun == nil {
			sum.DryRun = r.DryRun
		}
	}
	return &sum
}

// kindLines are how the kinds of a plan are called, by digest: with what tells them
// apart where the label alone does not.
func kindLines(p *selection.Plan) map[string]string {
	labels := map[string]int{}
	for i := range p.Rows {
		labels[p.Rows[i].Kind.Label]++
	}
	out := map[string]string{}
	for i := range p.Rows {
		k := &p.Rows[i].Kind
		text := k.Label
		if labels[text] > 1 {
			text = k.Distinct(p.Rows)
		}
		if k.Assumed {
			text += " (assumed)"
		}
		out[k.Digest] = text
	}
	return out
}
