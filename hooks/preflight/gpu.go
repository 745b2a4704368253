package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// UsesGPU tells whether the step has GPUs, or the environment cannot do without.
func (in *Input) UsesGPU() bool {
	if in.WantsGPU || len(in.Granted) > 0 {
		return true
	}
	return in.Needs != nil && in.Needs.Stack.GPU
}

// gpus: whether the driver and the GPUs that the step may use are well. Of a step that
// uses none nothing is said: a GPU that others were given is not its business.
func gpus(_ context.Context, in *Input) ([]Finding, error) {
	if !in.UsesGPU() {
		return nil, nil
	}
	if in.GPU == nil {
		if in.GPUProblem == "" {
			return nil, nil // that there is none is what cuda.go has to say
		}
		why, _, _ := strings.Cut(in.GPUProblem, "; next: ")
		return []Finding{{ID: "gpu-unknown", Level: Unknown, Evidence: "its GPUs could not be asked: " + why, Act: Administrator,
			Next: "the administrator lets the health check run (hpcenv slurm-hook health)"}}, nil
	}
	var out []Finding
	for _, f := range in.GPU.Verdict.Findings {
		if f.GPU != nil && !in.granted(*f.GPU) || f.ID == "gpu-missing" && in.allListed() {
			continue
		}
		of := ofGPU(in.GPU.Report, f)
		if of.Level == Unhealthy && in.withoutGPU() {
			of.Level = Warn
			of.Evidence += "; this step was given no GPU"
		}
		out = append(out, of)
	}
	if len(out) == 0 && in.GPU.Report != nil {
		out = append(out, Finding{ID: "gpu", Level: Fits, Evidence: fmt.Sprintf("its driver %s serves %d GPUs that are well", in.GPU.Report.Driver, in.well())})
	}
	return out, nil
}

// withoutGPU: it is a step of a job that was given GPUs, and was given none of them. An
// environment for GPUs can have work to do there that needs none, such as preparing
// data; what becomes of GPUs that others were given is then no reason to refuse it. Of a
// job without GPUs nothing follows: many sites do not have Slurm count them.
func (in *Input) withoutGPU() bool {
	if in.WantsGPU {
		return false
	}
	job, _ := in.lookup("SLURM_JOB_GPUS")
	visible, _ := in.lookup("CUDA_VISIBLE_DEVICES")
	return job != "" && (visible == "" || visible == "NoDevFiles")
}

// granted: the step may use the GPU.
func (in *Input) granted(index int) bool {
	return in.Granted == nil || slices.Contains(in.Granted, index)
}

// allListed: which GPUs were granted is known, and the driver lists them all: what is
// missing is others'.
func (in *Input) allListed() bool {
	if in.Granted == nil || in.GPU.Report == nil {
		return false
	}
	for _, index := range in.Granted {
		if !slices.ContainsFunc(in.GPU.Report.GPUs, func(g gpu.GPU) bool { return g.Index == index }) {
			return false
		}
	}
	return true
}

// well counts the GPUs that the step may use.
func (in *Input) well() int {
	n := 0
	for _, g := range in.GPU.Report.GPUs {
		if in.granted(g.Index) {
			n++
		}
	}
	return n
}

// OfRecord are the findings about all GPUs of a node, as a launch would have them.
func OfRecord(r *gpu.Record) []Finding {
	var out []Finding
	for _, f := range r.Verdict.Findings {
		out = append(out, ofGPU(r.Report, f))
	}
	return out
}

var gpuLevels = map[gpu.Level]Level{gpu.OK: Fits, gpu.Warn: Warn, gpu.Unknown: Unknown, gpu.Unhealthy: Unhealthy}

// ofGPU is a finding of the record in this package's words: to be read behind the
// node's name by who wants to run a job.
func ofGPU(r *gpu.Report, f gpu.Finding) Finding {
	out := Finding{ID: f.ID, Level: gpuLevels[f.Level], Evidence: f.Evidence, Next: f.Next, Act: f.Act}
	if out.Level == "" {
		out.Level = Unknown
	}
	if text := short(r, f); text != "" {
		out.Evidence = text
	}
	if f.ID == "gpu-compute-exclusive" {
		out.Act = User // who chooses how many ranks share a GPU
	}
	return out
}

// short says the common findings as briefly as they can be: "GPU 3 (GPU-5f1c9a) is lost
// (NVML 15)". "" = the record's own words are best.
func short(r *gpu.Report, f gpu.Finding) string {
	what := map[string]string{
		"gpu-lost": "is lost", "gpu-reset-required": "must be reset", "gpu-remap-failed": "has memory that could not be repaired",
		"gpu-compute-prohibited": "is not to be used (its compute mode is prohibited)",
	}[f.ID]
	code := map[string]int{"gpu-lost": gpu.CodeLost, "gpu-reset-required": gpu.CodeResetRequired}[f.ID]
	switch {
	case f.ID == "driver-mismatch":
		return fmt.Sprintf("its GPU driver was replaced without a reboot (NVML %d)", gpu.CodeMismatch)
	case f.ID == "driver-not-loaded":
		return fmt.Sprintf("its GPU driver is not loaded (NVML %d)", gpu.CodeDriverNotLoaded)
	case what == "":
		return ""
	case f.GPU == nil:
		return fmt.Sprintf("a GPU %s (NVML %d)", what, code)
	}
	text := fmt.Sprintf("GPU %d", *f.GPU)
	if name := nameOf(r, *f.GPU); name != "" {
		text += " (" + name + ")"
	}
	text += " " + what
	if code != 0 {
		text += fmt.Sprintf(" (NVML %d)", code)
	}
	return text
}

// nameOf a GPU as far as it is known: the beginning of its UUID, else where it is on the
// bus.
func nameOf(r *gpu.Report, index int) string {
	if r == nil {
		return ""
	}
	for _, g := range r.GPUs {
		if g.Index != index {
			continue
		}
		kind, rest, is := strings.Cut(g.UUID, "-")
		if is && len(rest) >= 6 {
			return kind + "-" + rest[:6]
		}
		return g.BusID
	}
	return ""
}
