//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// here is the environment that this host gets of a lock with several, where none is
// named: by the host's own facts, and in a job on several nodes by those of all its
// nodes, so that every rank decides alike.
func (a *app) here(ctx context.Context, req *api.PrepareRequest) (string, error) {
	d, err := a.described(req)
	if err != nil {
		return "", err
	}
	if d == nil || len(d.Environments) == 1 && d.Environments[0].Name == defaultName {
		return defaultName, nil
	}
	f, _ := facts.Load(ctx, filepath.Join(helper.DefaultRunDir, facts.RecordFile)) // else they were read now
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("this host's name: %w", err)
	}
	if node := a.getenv("SLURMD_NODENAME"); node != "" {
		name = node
	}
	c, err := a.cluster()
	if err != nil {
		return "", err
	}
	overrides, err := a.overrides(c)
	if err != nil {
		return "", err
	}
	row, why, err := a.gets(req, d, c, selection.Wish{Overrides: overrides}, f, name)
	if err != nil {
		return "", err
	}
	if why != nil {
		return "", a.notHere(req.LockPath, why)
	}
	if row.Choice.Environment != defaultName && (a.getenv("SLURM_PROCID") == "" || a.getenv("SLURM_PROCID") == "0") {
		fmt.Fprintf(a.stderr, "hpcenv: note: %s gets the environment %s: %s\n", name, row.Choice.Environment, row.Because)
	}
	return row.Choice.Environment, nil
}

// gets is what a node with these facts gets of a lock, in the job that this process is
// part of if there is one. Nothing fits: the row, if there is one, says what it
// rejects, and why is all that is to be said of it. c may be nil.
func (a *app) gets(req *api.PrepareRequest, d *planning.Description, c *planning.Cluster, wish selection.Wish, f *facts.Facts, name string) (row *selection.Row, why *selection.Error, err error) {
	if d, err = a.sharpened(d, req); err != nil {
		return nil, nil, err
	}
	wish.GPU = a.getenv("SLURM_JOB_GPUS") != "" || a.getenv("SLURM_GPUS_ON_NODE") != ""
	in := selection.Input{Environments: d.Environments, Wish: wish}
	kind := selection.KindOf(f, in.Wish.Override)
	in.Groups = []selection.Group{{Kind: kind, Nodes: name, Count: 1}}
	if c != nil {
		in.Rules = c.Rules
		others := a.jobNodes(name)
		in.Wish.MultiNode = len(others) > 0
		more, _ := c.Groups(others)
		in.Groups = append(in.Groups, more...)
	}
	plan, err := selection.Select(in)
	switch {
	case errors.As(err, &why):
		if why.Plan != nil {
			row = why.Plan.Row(kind.Digest)
		}
		return row, why, nil
	case err != nil:
		return nil, nil, api.Errorf(api.ExitUsage, "%s: %v", req.LockPath, err)
	}
	return plan.Row(kind.Digest), nil, nil
}

// jobNodes are the other nodes of the job that this process is part of.
func (a *app) jobNodes(self string) (others []string) {
	names, err := hostlist.Expand(a.getenv("SLURM_JOB_NODELIST"))
	if err != nil {
		return nil
	}
	for _, n := range names {
		if n != self {
			others = append(others, n)
		}
	}
	return others
}

// notHere is the error of a host that gets nothing.
func (a *app) notHere(lock string, why *selection.Error) error {
	text := lock + ": " + why.Sentence()
	for _, line := range why.Table() {
		text += "\n  " + line
	}
	return api.Errorf(api.ExitNoFit, "%s\nnext: -e NAME runs one of them all the same", text)
}
