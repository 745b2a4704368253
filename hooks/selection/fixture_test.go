package selection_test

import (
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// virtuals of a node.
func virtuals(cuda string) []requirement.Virtual {
	v := []requirement.Virtual{{Name: "__glibc", Version: "2.34", Build: "0"}, {Name: "__linux", Version: "5.14.0", Build: "0"}, {Name: "__unix", Version: "0", Build: "0"}}
	if cuda != "" {
		v = append([]requirement.Virtual{{Name: "__cuda", Version: cuda, Build: "0"}}, v...)
	}
	return v
}

func sealed(t testing.TB, k selection.Kind) selection.Kind {
	t.Helper()
	label := k.Label
	if k.Ancestors == nil && k.Subdir != "" {
		k.Ancestors = map[string][]string{"linux-64": {"haswell", "x86_64_v3", "x86_64_v2", "x86_64"}, "linux-aarch64": {"neoverse_n1", "aarch64"}}[k.Subdir]
		k.Virtuals = append(slices.Clone(k.Virtuals), requirement.Virtual{Name: "__archspec", Version: "1", Build: k.Ancestors[0]})
	}
	k = k.Sealed()
	k.Label = label
	return k
}

// The nodes of the tests.
func gpuIB(t testing.TB) selection.Group {
	return selection.Group{Nodes: "gpu[001-096]", Count: 96, Kind: sealed(t, selection.Kind{Subdir: "linux-64", Virtuals: virtuals("12.2"), PageSize: 4096,
		Networks: []string{facts.InfiniBand, facts.Ethernet}, GPU: true, Driver: "535.104.05", Label: "x86-64 H100 InfiniBand"})}
}

func ghSlingshot(t testing.TB) selection.Group {
	return selection.Group{Nodes: "gh[01-24]", Count: 24, Kind: sealed(t, selection.Kind{Subdir: "linux-aarch64", Virtuals: virtuals("12.4"), PageSize: 65536,
		Networks: []string{facts.Slingshot11, facts.Ethernet}, GPU: true, Driver: "550.54.15", Label: "aarch64 GH200 Slingshot-11"})}
}

func xgSlingshot(t testing.TB) selection.Group {
	return selection.Group{Nodes: "xg[1-8]", Count: 8, Kind: sealed(t, selection.Kind{Subdir: "linux-64", Virtuals: virtuals("12.4"), PageSize: 4096,
		Networks: []string{facts.Slingshot11, facts.Ethernet}, GPU: true, Driver: "550.54.15", Label: "x86-64 A100 Slingshot-11"})}
}

func v100(t testing.TB) selection.Group {
	return selection.Group{Nodes: "v100[01-40]", Count: 40, Kind: sealed(t, selection.Kind{Subdir: "linux-64", Virtuals: virtuals("11.8"), PageSize: 4096,
		Networks: []string{facts.InfiniBand, facts.Ethernet}, GPU: true, Driver: "520.61.05", Label: "x86-64 V100 InfiniBand"})}
}

func armIB(t testing.TB) selection.Group {
	return selection.Group{Nodes: "arm[1-4]", Count: 4, Kind: sealed(t, selection.Kind{Subdir: "linux-aarch64", Virtuals: virtuals("12.4"), PageSize: 4096,
		Networks: []string{facts.InfiniBand, facts.Ethernet}, GPU: true, Driver: "550.54.15", Label: "aarch64 GH200 InfiniBand"})}
}

func cpuNodes(t testing.TB) selection.Group {
	return selection.Group{Nodes: "c[001-400]", Count: 400, Kind: sealed(t, selection.Kind{Subdir: "linux-64", Virtuals: virtuals(""), PageSize: 4096,
		Networks: []string{facts.Ethernet}, Label: "x86-64 Ethernet"})}
}

// onBoth platforms of a lock.
func onBoth(c selection.Candidate) []selection.Candidate {
	a, b := c, c
	a.Platform, a.Subdir = "linux-64", "linux-64"
	b.Platform, b.Subdir = "linux-aarch64", "linux-aarch64"
	return []selection.Candidate{a, b}
}

func glibc() requirement.Requirement {
	return requirement.Requirement{Spec: "__glibc >=2.28,<3.0.a0", Source: requirement.Depends, Packages: []string{"python 3.12.4"}}
}

func cuda12() requirement.Requirement {
	return requirement.Requirement{Spec: "__cuda >=12", Source: requirement.Depends, Packages: []string{"cuda-version 12.9", "cupy 13.4.1"}}
}

var ucx = stack.Stack{Family: stack.UCX, Package: "ucx 1.18.0", Networks: []string{facts.InfiniBand, facts.RoCE, facts.Slingshot10}, GPU: true, UsesGPU: true, GPUPackage: "cuda-version 12.9"}

var gasnet = stack.Stack{Family: stack.GASNet, Package: "realm-gex-wrapper 0.0.1", Networks: []string{facts.Slingshot11, facts.Slingshot10, facts.OmniPath}, GPU: true, UsesGPU: true, GPUPackage: "cuda-version 12.9"}

// thread is a lock like the deployment thread's: default, cpu and gex.
func thread() []selection.Environment {
	cpu := stack.Stack{Family: stack.UCX, Package: "ucx 1.18.0", Networks: ucx.Networks}
	return []selection.Environment{
		{Name: "default", Platforms: onBoth(selection.Candidate{Stack: ucx, Requirements: []requirement.Requirement{glibc(), cuda12()}})},
		{Name: "cpu", Platforms: onBoth(selection.Candidate{Stack: cpu, Requirements: []requirement.Requirement{glibc()}})},
		{Name: "gex", Platforms: onBoth(selection.Candidate{Stack: gasnet, Requirements: []requirement.Requirement{glibc(), cuda12()}})},
	}
}

func job(groups ...selection.Group) selection.Input {
	return selection.Input{Environments: thread(), Groups: groups, Wish: selection.Wish{MultiNode: true}}
}
