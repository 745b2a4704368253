package checkup

import (
	"context"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// Environment is what is checked on the node.
type Environment struct {
	// Needs; nil = not known.
	Needs *needs.Needs
	// Prefix is where it is; "" = it is not made, or not attached here.
	Prefix string
	// Manifest are requirements of the project beside those of the packages.
	Manifest []requirement.Requirement
	// CUDA is the site's table of drivers and GPUs; nil = the program's.
	CUDA *cuda.Table
	// Override is preflight.Input's.
	Override func(string) (string, bool)
	// Env looks up a variable of a program in it.
	Env func(string) (string, bool)
}

// Check makes the checks that a launch makes, and reports all of them.
func (h *Host) Check(ctx context.Context, e Environment) *preflight.Report {
	return preflight.Run(ctx, h.input(e), false)
}

func (h *Host) input(e Environment) *preflight.Input {
	in := &preflight.Input{
		Node: h.Node, Root: h.root, Facts: h.Facts, GPU: h.GPU, GPUProblem: h.GPUProblem,
		Needs: e.Needs, Prefix: e.Prefix, Manifest: e.Manifest, Env: e.Env, Override: e.Override, CUDA: e.CUDA,
	}
	if j := h.Job; j != nil {
		in.WantsGPU, in.MultiNode = j.WantsGPU, j.Nodes > 1
		if h.GPU != nil {
			in.Granted = j.grant.Indices(h.GPU.Report)
		}
	}
	return in
}
