package launch

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// Bounds of what a launch does about GPUs.
const (
	// freshFor is how old what the health check keeps may be: three times the interval
	// that administrators are advised to run it at.
	freshFor = 15 * time.Minute
	// askLimit bounds a driver that is asked in the launch path, and askReap the end of
	// the child that did not answer.
	askLimit = 5 * time.Second
	askReap  = 500 * time.Millisecond
)

// Options say what is launched where.
type Options struct {
	// Node is Slurm's name for it; RunDir has its records.
	Node, RunDir string
	// Facts of the node.
	Facts *facts.Facts
	// Needs of the environment; nil = not known.
	Needs *needs.Needs
	// CUDA is the site's table of drivers; nil = the program's.
	CUDA *cuda.Table
	// Prefix of the environment; Command is what is started in it, "" = not known.
	Prefix, Command string
	// Override is preflight.Input's.
	Override func(string) (string, bool)
	// Env looks up variables of the process that is to run, after activation.
	Env func(string) (string, bool)
	// Batch: it is the batch script of a job, not a step of its own.
	Batch bool
	// Script is preflight.Input's.
	Script bool
	// MultiNode: the job or step has several nodes. SameHost are those of them that have
	// the same host identifier as this one.
	MultiNode bool
	SameHost  []string
	// GPU says how the driver is asked if it must be; limits are put in.
	GPU gpu.Options
}

// Examine gathers and checks. It returns soon after the context is done, and never
// fails: what could not be found out is a finding.
func Examine(ctx context.Context, o Options) *preflight.Report {
	in := o.input(ctx)
	return preflight.Run(ctx, in, true)
}

func (o *Options) input(ctx context.Context) *preflight.Input {
	in := &preflight.Input{Node: o.Node, Facts: o.Facts, Needs: o.Needs, Prefix: o.Prefix, Override: o.Override, Env: o.Env, MultiNode: o.MultiNode,
		SameHost: o.SameHost, CUDA: o.CUDA, Command: o.Command, Script: o.Script}
	given := Granted(o.Env, o.Batch)
	in.WantsGPU = given.Some
	if !in.UsesGPU() {
		return in
	}
	record, err := o.record(ctx)
	if err != nil {
		in.GPUProblem = err.Error()
	}
	if record != nil {
		in.GPU = record
		in.Granted = given.Indices(record.Report)
	}
	return in
}

// record of the GPUs: what the health check keeps, if it is fresh, else what the driver
// says now. Nil without an error: there are none.
func (o *Options) record(ctx context.Context) (*gpu.Record, error) {
	kept, err := gpu.Load("/", filepath.Join(o.RunDir, gpu.RecordFile))
	if err == nil && kept.Fresh(time.Now(), freshFor) {
		return kept, nil
	}
	if there, err := gpu.Present("/"); err != nil || !there {
		return nil, err
	}
	if err := gpu.Hanging(o.RunDir); err != nil {
		return nil, err
	}
	ask := o.GPU
	ask.Limit, ask.Reap, ask.RunDir, ask.Devices = askLimit, askReap, "", true
	now, err := gpu.Ask(ctx, "/", ask)
	if now != nil && now.Failure != "" {
		return nil, errors.New(now.Failure)
	}
	return now, err
}
