package gpu

import (
	"context"
	"fmt"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Refine returns probes that answer as the given ones do, but with what the driver
// itself said where it is the same vendor's: the CUDA version, the lowest compute
// capability, the models. Whether there is a GPU that jobs can use remains for the
// given ones to say, which look at device nodes. r may be nil.
func Refine(probes []facts.GPUProbe, r *Report) []facts.GPUProbe {
	if r == nil || r.State != StateOK {
		return probes
	}
	out := make([]facts.GPUProbe, len(probes))
	for i, p := range probes {
		out[i] = refined{p, r}
	}
	return out
}

type refined struct {
	files  facts.GPUProbe
	report *Report
}

// GPUs implements facts.GPUProbe.
func (p refined) GPUs(ctx context.Context, root string) (*facts.GPU, []string) {
	g, problems := p.files.GPUs(ctx, root)
	if g == nil || g.Vendor != p.report.Vendor {
		return g, problems
	}
	out := *g
	if p.report.Driver != "" {
		out.Driver, out.Problem = p.report.Driver, ""
	}
	if p.report.CUDA != "" {
		out.CUDA = p.report.CUDA
	}
	var names []string
	whole := true
	for _, d := range p.report.GPUs {
		if d.Lost || d.ResetRequired {
			problems = append(problems, fmt.Sprintf("GPU %d %s cannot be used: its driver says that it is lost or must be reset", d.Index, d.BusID))
			continue
		}
		if whole = whole && d.Name != ""; whole {
			names = append(names, d.Name)
		}
	}
	if c := lowest(p.report.GPUs); c != "" {
		out.Compute = c
	}
	switch {
	case whole && len(names) == 0:
		return nil, append(problems, "the driver lists no GPU that can be used")
	case whole && len(names) <= count(g.Models):
		out.Models = facts.CountModels(names)
	}
	// More than the files showed are GPUs whose device nodes users may not open:
	// the files' count holds.
	return &out, problems
}

func count(list []facts.Model) int {
	n := 0
	for _, m := range list {
		n += m.Count
	}
	return n
}

// lowest compute capability of the GPUs that work; "" if one does not tell.
func lowest(list []GPU) string {
	var all []string
	for _, g := range list {
		if !g.Lost && !g.ResetRequired {
			all = append(all, g.Compute)
		}
	}
	return facts.LowestVersion(all)
}
