package checkup

import (
	"context"
	"slices"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/gpu"
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
		in.WantsGPU, in.MultiNode, in.Granted = j.WantsGPU, j.Nodes > 1, h.granted()
	}
	return in
}

// granted are the indices, as the driver counts, of the GPUs that the job was given;
// nil = not known. Slurm counts the parts of a divided GPU by numbers of its own: there
// none is judged by itself.
func (h *Host) granted() []int {
	if h.Job == nil || h.Job.Devices == nil || h.GPU == nil {
		return nil
	}
	all, out := h.GPU.Verdict.GPUs, []int{}
	if slices.ContainsFunc(all, func(g gpu.GPUVerdict) bool { return g.MIG != nil && g.MIG.Enabled }) {
		return out
	}
	for _, device := range h.Job.Devices {
		i := slices.IndexFunc(all, func(g gpu.GPUVerdict) bool { return g.Minor != nil && *g.Minor == device })
		if i >= 0 {
			out = append(out, all[i].Index)
		} else {
			out = append(out, device) // a lost one does not tell: drivers count alike
		}
	}
	return out
}
