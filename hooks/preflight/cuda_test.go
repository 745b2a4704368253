package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// with is a node with a driver and GPUs, for an environment that asks for CUDA.
func with(driver string, models ...string) *preflight.Input {
	f := &facts.Facts{Machine: "x86_64", Platform: "linux-64", Glibc: "2.34", Kernel: "5.14.0", GPU: &facts.GPU{Vendor: "nvidia", Driver: driver, CUDA: facts.CUDAOf(driver)}}
	var all []string
	for _, m := range models {
		f.GPU.Models = append(f.GPU.Models, facts.Model{Name: m, Count: 1})
		all = append(all, cuda.Default().ComputeOf(m))
	}
	f.GPU.Compute = facts.LowestVersion(all)
	return &preflight.Input{Facts: f, Prefix: "/opt/e/1", WantsGPU: true, Needs: &needs.Needs{Stack: stack.Stack{GPU: true, UsesGPU: true}}}
}

func asks(in *preflight.Input, version, compat string) *preflight.Input {
	by := []string{"cuda-version " + version}
	in.Needs.Locked = []requirement.Requirement{
		{Spec: "__cuda >=" + strings.Split(version, ".")[0], Source: requirement.Constrains, Packages: append(by, "cupy 13.4.1"), Compat: compat},
		{Spec: "cuda-compute " + version, Source: requirement.CUDA, Packages: by},
		{Spec: "cuda-driver " + version, Source: requirement.CUDA, Packages: by, Compat: compat},
	}
	return in
}

// found are the findings about CUDA, as "id level".
func found(t *testing.T, in *preflight.Input) (ids []string, list []preflight.Finding) {
	for _, f := range preflight.Run(t.Context(), in, false).Findings {
		if strings.HasPrefix(f.ID, "cuda-") {
			ids, list = append(ids, f.ID+" "+string(f.Level)), append(list, f)
		}
	}
	return ids, list
}

func TestCUDADriver(t *testing.T) {
	v100, h100 := "Tesla V100-SXM2-32GB", "NVIDIA H100 80GB HBM3"
	for name, c := range map[string]struct {
		in   *preflight.Input
		want []string
		text []string // one after another in the evidence
	}{
		"too old": {asks(with("520.61.05", v100), "12.9", ""), []string{"cuda-driver does not fit", "cuda-compute fits"},
			[]string{"has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9, cupy 13.4.1)"}},
		"minor-version compatibility": {asks(with("535.104.05", h100), "12.9", ""), []string{"cuda-driver fits", "cuda-compute fits"},
			[]string{"has driver 535.104.05, needs >= 525.60.13 (cuda-version 12.9, cupy 13.4.1)", "minor-version compatibility"}},
		"too old a GPU": {asks(with("580.65.06", v100, h100), "13.0", ""), []string{"cuda-driver fits", "cuda-compute does not fit"},
			[]string{"needs >= 580.65.06", "has Tesla V100-SXM2-32GB of compute capability 7.0, needs >= 7.5 (cuda-version 13.0)"}},
		"forward compatibility": {asks(with("535.104.05", h100), "13.0", "13.0"), []string{"cuda-driver warn", "cuda-compute fits"},
			[]string{"forward compatibility", "cuda-compat 13.0, which is not in LD_LIBRARY_PATH"}},
		"not for this GPU": {asks(with("535.104.05", "NVIDIA GeForce RTX 4090"), "13.0", "13.0"), []string{"cuda-driver does not fit", "cuda-compute fits"},
			[]string{"NVIDIA GeForce RTX 4090 it ends with error 804"}},
		"a GPU that the driver dropped": {asks(with("590.44.01", v100), "12.9", ""), []string{"cuda-driver fits", "cuda-compute fits", "cuda-driver warn"},
			[]string{"the last branch that serves Tesla V100-SXM2-32GB (Volta, compute capability 7.0) is 580"}},
	} {
		got, list := found(t, c.in)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		var all string
		for _, f := range list {
			all += f.Evidence + "\n"
			if f.Level != preflight.Fits && (f.Next == "" || f.Act == "") {
				t.Errorf("%s: %+v does not say what to do", name, f)
			}
		}
		for _, text := range c.text {
			if !strings.Contains(all, text) {
				t.Errorf("%s: %q is missing in\n%s", name, text, all)
			}
		}
	}

	in := asks(with("535.104.05", h100), "13.0", "13.0")
	in.Env = func(name string) (string, bool) { return "/usr/lib:/opt/e/1/cuda-compat/", name == "LD_LIBRARY_PATH" }
	if got, _ := found(t, in); got[0] != "cuda-driver fits" {
		t.Errorf("with cuda-compat on the path: %q", got)
	}
	in = asks(with("520.61.05", v100), "12.9", "")
	in.Override = func(name string) (string, bool) { return "12.4", name == "CONDA_OVERRIDE_CUDA" }
	if got, _ := found(t, in); got[0] != "cuda-driver fits" {
		t.Errorf("with what was told: %q", got)
	}
	in = asks(with("520.61.05", v100), "12.9", "")
	site, err := cuda.Parse("site", []byte(strings.Replace(cuda.Default().Text, "family 12 525.60.13", "family 12 515.1", 1)))
	if err != nil {
		t.Fatal(err)
	}
	in.CUDA, in.Needs.Locked = site, in.Needs.Locked[1:]
	if got, _ := found(t, in); got[0] != "cuda-driver fits" {
		t.Errorf("by the site's table: %q", got)
	}
	in.Facts.GPU = nil
	if got, _ := found(t, in); len(got) > 0 {
		t.Errorf("a constraint on a node without GPU: %q", got)
	}
}

// What counts are the GPUs that the step was granted.
func TestCUDAOfGrantedGPUs(t *testing.T) {
	in := asks(with("580.65.06", "Tesla V100-SXM2-32GB", "NVIDIA H100 80GB HBM3"), "13.0", "")
	in.GPU = &gpu.Record{Report: &gpu.Report{GPUs: []gpu.GPU{{Index: 0, Name: "Tesla V100-SXM2-32GB", Compute: "7.0"}, {Index: 1, Name: "NVIDIA H100 80GB HBM3", Compute: "9.0"}}}}
	in.Granted = []int{1}
	if got, _ := found(t, in); !slices.Contains(got, "cuda-compute fits") {
		t.Errorf("the H100: %q", got)
	}
	in.Granted = []int{0, 1}
	if got, _ := found(t, in); !slices.Contains(got, "cuda-compute does not fit") {
		t.Errorf("both: %q", got)
	}
}

func TestCUDACodeOfFiles(t *testing.T) {
	code := func(pkg, file, problem string, list ...string) needs.CUDA {
		return needs.CUDA{CUDA: elf.CUDA{File: file, Code: list, Problem: problem}, Package: pkg}
	}
	h100 := "NVIDIA H100 80GB HBM3" // 9.0
	for name, c := range map[string]struct {
		code  []needs.CUDA
		model string
		want  []string
		text  string
	}{
		"machine code of it":       {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80", "sm_90")}, h100, []string{"cuda-code fits"}, ""},
		"of a lower minor":         {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80")}, "NVIDIA A10G", []string{"cuda-code fits"}, ""},
		"of a higher minor":        {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_86")}, "NVIDIA A100", []string{"cuda-code warn"}, "a 1 has no code for compute capability 8.0 (NVIDIA A100): it has sm_86, in lib/a.so"},
		"of another major":         {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80"), code("a 1", "lib/b.so", "", "sm_70")}, h100, []string{"cuda-code warn"}, "a 1 has no code for compute capability 9.0 (NVIDIA H100 80GB HBM3): it has sm_80, in lib/a.so and 1 more files"},
		"of it alone":              {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_90a")}, h100, []string{"cuda-code fits"}, ""},
		"alone of another":         {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_100a")}, "NVIDIA B300", []string{"cuda-code warn"}, "10.3"},
		"of its family":            {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_100f")}, "NVIDIA B300", []string{"cuda-code fits"}, ""},
		"PTX":                      {[]needs.CUDA{code("a 1", "lib/a.so", "", "compute_70", "sm_70")}, h100, []string{"cuda-code fits"}, ""},
		"newer PTX":                {[]needs.CUDA{code("a 1", "lib/a.so", "", "compute_100")}, h100, []string{"cuda-code warn"}, "compute_100"},
		"PTX of another alone":     {[]needs.CUDA{code("a 1", "lib/a.so", "", "compute_90a")}, "NVIDIA B200", []string{"cuda-code warn"}, "compute_90a"},
		"some files of a package":  {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80"), code("a 1", "lib/b.so", "", "sm_90")}, h100, []string{"cuda-code warn"}, "files have no code for compute capability 9.0 (NVIDIA H100 80GB HBM3): a 1 (1 of 2 files with such code, lib/a.so first)"},
		"not read to the end":      {[]needs.CUDA{code("a 1", "lib/a.so", "odd", "sm_80")}, h100, []string{"cuda-code fits"}, ""},
		"what nobody knows":        {[]needs.CUDA{code("a 1", "lib/a.so", "", "lto_80")}, h100, []string{"cuda-code fits"}, ""},
		"a GPU that nobody knows":  {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80")}, "NVIDIA X1", nil, ""},
		"a file of no package":     {[]needs.CUDA{code("", "lib/a.so", "", "sm_80")}, h100, []string{"cuda-code warn"}, "a file of no package"},
		"two packages, one of use": {[]needs.CUDA{code("a 1", "lib/a.so", "", "sm_80"), code("b 1", "lib/b.so", "", "sm_90")}, h100, []string{"cuda-code warn"}, "a 1 has no code"},
	} {
		in := with("580.65.06", c.model)
		in.Needs.CUDA = c.code
		got, list := found(t, in)
		if !slices.Equal(got, c.want) || len(list) > 0 && !strings.Contains(list[0].Evidence, c.text) {
			t.Errorf("%s: %q %+v", name, got, list)
		}
	}
	in := with("580.65.06", h100)
	in.Needs.CUDA, in.WantsGPU, in.Needs.Stack.GPU = []needs.CUDA{code("a 1", "lib/a.so", "", "sm_80")}, false, false
	if got, _ := found(t, in); len(got) > 0 {
		t.Errorf("a step without GPU: %q", got)
	}
}
