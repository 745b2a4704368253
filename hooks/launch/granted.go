package launch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// Grant is what the step was given of the node's GPUs.
type Grant struct {
	// Some: it was given GPUs.
	Some bool
	// Minors are the numbers of their device nodes, UUIDs the names that the driver has
	// for them, if that is how they are told. Both nil: which is not told.
	Minors []int
	UUIDs  []string
}

// Granted reads it from the variables of a task. Slurm counts GPUs by their device
// nodes; CUDA_VISIBLE_DEVICES, where the devices are confined, counts only the step's
// own, so that of it names alone are believed there.
func Granted(env func(string) (string, bool), batch bool) Grant {
	name := "SLURM_STEP_GPUS"
	if batch {
		name = "SLURM_JOB_GPUS" // of this host; in a step it may be another's
	}
	if list, ok := env(name); ok && list != "" {
		return Grant{Some: true, Minors: numbers(list)}
	}
	list, ok := env("CUDA_VISIBLE_DEVICES")
	if !ok || list == "" {
		return Grant{}
	}
	var g Grant
	for _, word := range strings.Split(list, ",") {
		if strings.HasPrefix(word, "GPU-") || strings.HasPrefix(word, "MIG-") {
			g.Some, g.UUIDs = true, append(g.UUIDs, word)
		}
	}
	if _, job := env("SLURM_JOB_ID"); !job && g.UUIDs == nil {
		if g.Minors = numbers(list); g.Minors != nil {
			g.Some = true
		}
	}
	return g
}

// numbers of a list such as 0,2-3; nil = it is none.
func numbers(list string) []int {
	var out []int
	for _, word := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(word, "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || a < 0 || b < a || b > 255 {
			return nil
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}

// Indices of the GPUs in a report; nil = all, or which is not known. Slurm counts parts
// of a divided GPU by numbers of its own: there none is judged by itself.
func (g Grant) Indices(r *gpu.Report) []int {
	if r == nil || g.Minors == nil && g.UUIDs == nil {
		return nil
	}
	out := []int{}
	if g.UUIDs != nil {
		for i := range r.GPUs {
			if slices.ContainsFunc(g.UUIDs, func(u string) bool { return isOf(u, &r.GPUs[i]) }) {
				out = append(out, r.GPUs[i].Index)
			}
		}
		return out
	}
	if slices.ContainsFunc(r.GPUs, func(d gpu.GPU) bool { return d.MIG != nil && d.MIG.Enabled }) {
		return out
	}
	for _, minor := range g.Minors {
		i := slices.IndexFunc(r.GPUs, func(d gpu.GPU) bool { return d.Minor != nil && *d.Minor == minor })
		if i >= 0 {
			out = append(out, r.GPUs[i].Index)
		} else {
			out = append(out, minor) // a lost one does not tell: drivers count alike
		}
	}
	return out
}

// isOf: the name is the GPU's, or that of a part of it. CUDA takes names that are cut
// short.
func isOf(uuid string, d *gpu.GPU) bool {
	if d.UUID != "" && strings.HasPrefix(d.UUID, uuid) {
		return true
	}
	return d.MIG != nil && slices.ContainsFunc(d.MIG.Instances, func(i gpu.Instance) bool { return i.UUID != "" && strings.HasPrefix(i.UUID, uuid) })
}

// OfJob is what is kept of a node's GPUs without the findings about those that the job,
// whose variables env looks up in a prolog, does not get.
func OfJob(r *gpu.Record, env func(string) (string, bool)) *gpu.Record {
	if r == nil {
		return nil
	}
	mine := Granted(env, true).Indices(r.Report)
	if mine == nil {
		return r
	}
	out := *r
	out.Verdict.Findings = nil
	for _, f := range r.Verdict.Findings {
		if f.GPU == nil || slices.Contains(mine, *f.GPU) {
			out.Verdict.Findings = append(out.Verdict.Findings, f)
		}
	}
	out.Verdict.Level = gpu.Worst(out.Verdict.Findings)
	return &out
}
