package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// driver is a record of eight GPUs, of which change makes something else.
func driver(change func(*gpu.Report)) *gpu.Record {
	r := &gpu.Report{Version: gpu.ReportVersion, Vendor: "nvidia", State: gpu.StateOK, Driver: "535.104.05", CUDA: "12.2"}
	for i := range 8 {
		minor, yes := i, true
		r.GPUs = append(r.GPUs, gpu.GPU{Index: i, Minor: &minor, Name: "H100", UUID: fmt.Sprintf("GPU-5f1c9a%d0-1111", i), BusID: fmt.Sprintf("0000:1%d:00.0", i),
			Compute: "9.0", ComputeMode: gpu.ModeDefault, Persistence: &yes})
	}
	if change != nil {
		change(r)
	}
	return &gpu.Record{Version: gpu.RecordVersion, Report: r, Verdict: gpu.Judge(gpu.Evidence{Report: r})}
}

func lose(i int) func(*gpu.Report) {
	return func(r *gpu.Report) {
		r.GPUs[i].Lost = true
		r.GPUs[i].Failures = []gpu.Failure{{Call: "nvmlDeviceGetMemoryInfo", Code: gpu.CodeLost, Text: "GPU is lost"}}
	}
}

// about are the findings whose ids begin so.
func about(r *Report, prefix string) (out []Finding) {
	for _, f := range r.Findings {
		if strings.HasPrefix(f.ID, prefix) {
			out = append(out, f)
		}
	}
	return out
}

func TestGPUs(t *testing.T) {
	mismatch := func(r *gpu.Report) {
		r.State, r.GPUs, r.Failures = gpu.StateFailed, nil, []gpu.Failure{{Call: "nvmlInit_v2", Code: gpu.CodeMismatch, Text: "mismatch"}}
	}
	exclusive := func(r *gpu.Report) { r.GPUs[2].ComputeMode = gpu.ModeExclusiveProcess }
	wants, none := Input{WantsGPU: true}, Input{}
	for _, c := range []struct {
		name   string
		in     Input
		record *gpu.Record
		why    string
		grant  []int
		level  Level
		want   string // evidence of the first finding; "" = there is none
	}{
		{"all are well", wants, driver(nil), "", nil, Fits, ""},
		{"one is lost", wants, driver(lose(3)), "", nil, Unhealthy, "GPU 3 (GPU-5f1c9a) is lost (NVML 15)"},
		{"one is lost and granted", wants, driver(lose(3)), "", []int{1, 3}, Unhealthy, "GPU 3 (GPU-5f1c9a) is lost (NVML 15)"},
		{"one is lost and others'", wants, driver(lose(3)), "", []int{0, 1}, Fits, ""},
		{"nobody wants one", none, driver(lose(3)), "", nil, Fits, ""},
		{"the driver was replaced", wants, driver(mismatch), "", []int{0}, Unhealthy, "its GPU driver was replaced without a reboot (NVML 18)"},
		{"exclusive", wants, driver(exclusive), "", nil, Warn, "GPU 2"},
		{"not known", wants, nil, "the GPU driver does not answer: nothing for 5s; next: look at dmesg", nil, Unknown, "its GPUs could not be asked: the GPU driver does not answer: nothing for 5s"},
		{"a node without", wants, nil, "", nil, Fits, ""},
	} {
		in := c.in
		in.GPU, in.GPUProblem, in.Granted = c.record, c.why, c.grant
		r := Run(t.Context(), &in, true)
		found := about(r, "")
		if r.Level() != c.level || c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0].Evidence, c.want)) {
			t.Errorf("%s: %s %+v", c.name, r.Level(), found)
		}
		for _, f := range found {
			if f.Next == "" || f.Act == "" {
				t.Errorf("%s: nobody is told what to do: %+v", c.name, f)
			}
		}
	}
	// The list for people says also what is as it should be.
	if f := about(Run(t.Context(), &Input{WantsGPU: true, GPU: driver(nil)}, false), "gpu"); len(f) != 1 || f[0].Level != Fits {
		t.Errorf("%+v", f)
	}
	// An environment that cannot do without one is reason enough.
	in := Input{GPU: driver(lose(3)), Needs: &needs.Needs{Stack: stack.Stack{GPU: true}}}
	if f := about(Run(t.Context(), &in, true), "gpu-lost"); len(f) != 1 {
		t.Errorf("%+v", f)
	}
}

// A GPU that the driver does not list any more is the step's business if it may be its
// own.
func TestMissingGPU(t *testing.T) {
	record := driver(func(r *gpu.Report) { r.GPUs = r.GPUs[:7] })
	served := make([]string, 8)
	for i := range served {
		served[i] = fmt.Sprintf("0000:1%d:00.0", i)
	}
	record.Verdict = gpu.Judge(gpu.Evidence{Report: record.Report, Served: served})
	for grant, want := range map[string]Level{"all": Unhealthy, "listed": Fits, "unlisted": Unhealthy} {
		in := Input{WantsGPU: true, GPU: record, Granted: map[string][]int{"all": nil, "listed": {0, 6}, "unlisted": {0, 7}}[grant]}
		if got := Run(t.Context(), &in, true).Level(); got != want {
			t.Errorf("%s: %s", grant, got)
		}
	}
}

func TestRequirements(t *testing.T) {
	f := &facts.Facts{Version: facts.Version, Machine: "x86_64", Platform: "linux-64", CPU: facts.CPU{Name: "zen3", Ancestors: []string{"zen3", "x86_64_v3", "x86_64"}},
		PageSize: 65536, Glibc: "2.31", Kernel: "6.1.0"}
	n := &needs.Needs{
		Version: needs.Version,
		Locked: []requirement.Requirement{
			{Spec: "__glibc >=2.17,<3.0.a0", Source: requirement.Depends, Packages: []string{"numpy 2.0.1"}},
			{Spec: "__archspec 1 x86_64_v4", Source: requirement.Depends, Packages: []string{"fast 1.0"}},
		},
		Requirements: []requirement.Requirement{{Spec: "__glibc >=2.34", Source: requirement.Files, Packages: []string{"new 3.1"}, File: "lib/libnew.so.3"}},
		Page:         &needs.Page{Size: 4096, File: "lib/libsmall.so", Package: "small 1.2"},
	}
	r := Run(t.Context(), &Input{Facts: f, Needs: n}, true)
	for id, want := range map[string]string{
		"glibc":             "has glibc 2.31, needs __glibc >=2.34 (lib/libnew.so.3 of new 3.1)",
		"microarchitecture": "has a zen3, needs __archspec 1 x86_64_v4 (fast 1.0)",
		"page-size":         "has pages of 64 KiB, programs are laid out for up to 4 KiB (small 1.2, in lib/libsmall.so)",
	} {
		got := about(r, id)
		if len(got) != 1 || got[0].Level != Unfit || got[0].Evidence != want || got[0].Act != User || got[0].Next == "" {
			t.Errorf("%s: %+v", id, got)
		}
	}
	// What a submission says of its nodes holds, and a node that has all is silent.
	override := func(name string) (string, bool) {
		v, ok := map[string]string{"CONDA_OVERRIDE_GLIBC": "2.36", "CONDA_OVERRIDE_ARCHSPEC": "x86_64_v4"}[name]
		return v, ok
	}
	n.Page.Size = 65536
	if r := Run(t.Context(), &Input{Facts: f, Needs: n, Override: override}, true); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
	if r := Run(t.Context(), &Input{Facts: f, Needs: n, Override: override}, false); len(about(r, "glibc")) != 1 || r.Level() != Fits {
		t.Errorf("%+v", r.Findings)
	}
}
