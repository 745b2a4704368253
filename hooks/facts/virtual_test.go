package facts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// env is an environment for tests: NAME=VALUE words.
func env(text string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for w := range strings.FieldsSeq(text) {
			if k, v, _ := strings.Cut(w, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func virtuals(f *facts.Facts, lookup func(string) (string, bool)) string {
	var list []string
	for _, v := range facts.Virtuals(f, lookup) {
		list = append(list, v.Name+"="+v.Version+"="+v.Build)
	}
	return strings.Join(list, " ")
}

func TestVirtuals(t *testing.T) {
	gpu := facts.Read(t.Context(), factstest.Tree(t, "gh-ss11"))
	eth := facts.Read(t.Context(), factstest.Tree(t, "eth"))
	const base = " __glibc=2.31=0 __linux=5.14.21=0 __unix=0=0"
	for _, c := range []struct {
		facts     *facts.Facts
		env, want string
	}{
		{gpu, "", "__archspec=1=neoverse_v2 __cuda=12.4=0 __cuda_arch=9.0=0" + base},
		{gpu, "CONDA_OVERRIDE_CUDA=", "__archspec=1=neoverse_v2" + base},
		{gpu, "CONDA_OVERRIDE_CUDA= CONDA_OVERRIDE_CUDA_ARCH=9.0", "__archspec=1=neoverse_v2" + base},
		{gpu, "CONDA_OVERRIDE_CUDA_ARCH=", "__archspec=1=neoverse_v2 __cuda=12.4=0" + base},
		{gpu, "CONDA_OVERRIDE_CUDA=13.0", "__archspec=1=neoverse_v2 __cuda=13.0=0 __cuda_arch=9.0=0" + base},
		{gpu, "CONDA_OVERRIDE_ARCHSPEC=", "__cuda=12.4=0 __cuda_arch=9.0=0" + base},
		{gpu, "CONDA_OVERRIDE_ARCHSPEC=neoverse_n1", "__archspec=1=neoverse_n1 __cuda=12.4=0 __cuda_arch=9.0=0" + base},
		{gpu, "CONDA_OVERRIDE_GLIBC= CONDA_OVERRIDE_LINUX=", "__archspec=1=neoverse_v2 __cuda=12.4=0 __cuda_arch=9.0=0 __unix=0=0"},
		{eth, "", "__archspec=1=sapphirerapids __glibc=2.34=0 __linux=5.14.0=0 __unix=0=0"},
		{eth, "CONDA_OVERRIDE_CUDA=12.2 CONDA_OVERRIDE_GLIBC=2.17", "__archspec=1=sapphirerapids __cuda=12.2=0 __glibc=2.17=0 __linux=5.14.0=0 __unix=0=0"},
		{&facts.Facts{Machine: "x86_64"}, "", "__archspec=0=x86_64 __unix=0=0"},
		{&facts.Facts{GPU: &facts.GPU{Vendor: "amd", CUDA: "12.2"}}, "", "__unix=0=0"},
	} {
		if got := virtuals(c.facts, env(c.env)); got != c.want {
			t.Errorf("%q: %s, want %s", c.env, got, c.want)
		}
	}
	if virtuals(gpu, nil) != virtuals(gpu, env("")) {
		t.Error("no environment is not the empty one")
	}
}

func TestVirtualLinux(t *testing.T) {
	for release, want := range map[string]string{
		"5.14.0-427.el9.x86_64": "5.14.0", "6.1": "6.1", "4.18.0": "4.18.0", "3.10.0.1.2": "3.10.0.1", "6": "6", "6.8.x": "6.8",
		"5.14.21-150500.55.65-cray_shasta_c": "5.14.21", "": "", "linux": "", "6..1": "6",
	} {
		got := ""
		for _, v := range facts.Virtuals(&facts.Facts{Kernel: release}, nil) {
			if v.Name == "__linux" {
				got = v.Version
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", release, got, want)
		}
	}
}

func TestVirtualAncestors(t *testing.T) {
	f := &facts.Facts{CPU: facts.CPU{Name: "zen4", Ancestors: facts.Ancestors("zen4")}}
	for variable, want := range map[string][]string{
		"":                                  facts.Ancestors("zen4"),
		"CONDA_OVERRIDE_ARCHSPEC=":          nil,
		"CONDA_OVERRIDE_ARCHSPEC=x86_64_v2": {"x86_64_v2", "x86_64"},
		"CONDA_OVERRIDE_ARCHSPEC=z80":       {"z80"},
	} {
		if got := facts.OverrideAncestors(f.CPU.Ancestors, env(variable)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", variable, got, want)
		}
	}
}
