package selection_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// world makes selections at random: locks, clusters, wishes and rules of the sort
// that there are, and odd ones.
type world struct {
	*rand.Rand
	t testing.TB
}

func newWorld(t testing.TB, seed uint64) world { return world{rand.New(rand.NewPCG(seed, 5)), t} }

func (w world) chance(percent int) bool { return w.IntN(100) < percent }

func oneOf[T any](w world, list ...T) T { return list[w.IntN(len(list))] }

var fabrics = []string{facts.InfiniBand, facts.RoCE, facts.EFA, facts.Slingshot10, facts.Slingshot11, facts.OmniPath}

var subdirs = []string{"linux-64", "linux-aarch64"}

func (w world) stack() stack.Stack {
	s := oneOf(w, stack.Stack{}, ucx, ucx, gasnet, stack.Stack{Family: stack.MPI, MPI: "site", Networks: fabrics},
		stack.Stack{Family: stack.Libfabric, Networks: []string{facts.EFA}}, stack.Stack{Family: stack.UCX})
	if s.Family != stack.None && s.MPI == "" {
		s.MPI = oneOf(w, "", "", "openmpi 5", "mpich 4")
	}
	s.UsesGPU = w.chance(60)
	s.GPU = s.UsesGPU && w.chance(70)
	return s
}

func (w world) candidate(platform, subdir string) selection.Candidate {
	c := selection.Candidate{Platform: platform, Subdir: subdir, Stack: w.stack()}
	add := func(spec string, source requirement.Source) {
		c.Requirements = append(c.Requirements, requirement.Requirement{Spec: spec, Source: source, Packages: []string{"some 1.0"}})
	}
	add(oneOf(w, "__glibc >=2.17", "__glibc >=2.17,<3.0.a0", "__glibc >=2.28", "__glibc >=2.35"), requirement.Depends)
	if c.Stack.GPU {
		add(oneOf(w, "__cuda", "__cuda >=12", "__cuda >=12.4", "__cuda >=13"), requirement.Depends)
	} else if c.Stack.UsesGPU {
		add(oneOf(w, "__cuda >=12", "__cuda >=13"), requirement.Constrains)
	}
	if w.chance(15) {
		add("__archspec 1 x86_64_v3", requirement.Depends)
	}
	if w.chance(5) {
		c.Problem = "a package without a hash"
	}
	return c
}

func (w world) environment(name string) selection.Environment {
	e := selection.Environment{Name: name, Explicit: w.chance(15)}
	if w.chance(20) {
		e.Rank = 1 + w.IntN(3)
	}
	for _, subdir := range subdirs {
		if w.chance(85) {
			e.Platforms = append(e.Platforms, w.candidate(subdir, subdir))
		}
		if w.chance(10) {
			e.Platforms = append(e.Platforms, w.candidate(subdir+"-b", subdir))
		}
	}
	return e
}

func (w world) kind(n int) selection.Group {
	k := selection.Kind{Subdir: oneOf(w, subdirs...), PageSize: oneOf(w, 0, 4096, 65536), Assumed: w.chance(10), Label: fmt.Sprintf("label %d", n)}
	if k.Subdir == "linux-64" {
		k.Ancestors = oneOf(w, []string{"x86_64"}, []string{"haswell", "x86_64_v3", "x86_64_v2", "x86_64"})
		k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__archspec", Version: "1", Build: k.Ancestors[0]})
	}
	k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__glibc", Version: oneOf(w, "2.17", "2.28", "2.34", "2.39"), Build: "0"})
	if k.GPU = w.chance(60); k.GPU {
		k.Driver = "535.104.05"
		k.Virtuals = append(k.Virtuals, requirement.Virtual{Name: "__cuda", Version: oneOf(w, "11.8", "12.2", "12.4", "13.0", ""), Build: "0"})
	}
	if w.chance(75) {
		k.Networks = append(k.Networks, oneOf(w, fabrics...))
	}
	if w.chance(90) {
		k.Networks = append(k.Networks, facts.Ethernet)
	}
	return selection.Group{Kind: sealed(w.t, k), Nodes: fmt.Sprintf("n%d-[1-9]", n), Count: 9}
}

var generatedNames = []string{"default", "alpha", "beta", "gamma", "delta", "epsilon", "zeta"}

func (w world) rules() selection.Rules {
	phrases := []string{"UCX", "GASNet-EX", "MPI", "libfabric", "none", "with GPU", "without GPU", "UCX with GPU", "environment alpha", "environment gamma", "environment default"}
	for range 20 {
		var rows []selection.Rule
		for i := range w.IntN(4) {
			r := selection.Rule{Key: fmt.Sprintf("row-%d", i)}
			if w.chance(60) {
				r.GPU = new(w.chance(50))
			}
			if w.chance(60) {
				r.Network = []string{oneOf(w, fabrics...), oneOf(w, fabrics...)}
			}
			if w.chance(40) {
				r.Architecture = []string{oneOf(w, subdirs...)}
			}
			if w.chance(30) {
				r.Partition = oneOf(w, []string{"a"}, []string{"a", "b"})
			}
			w.Shuffle(len(phrases), func(i, j int) { phrases[i], phrases[j] = phrases[j], phrases[i] })
			r.Prefer = slices.Clone(phrases[:w.IntN(3)])
			if w.chance(20) {
				r.Set = []selection.RuleSetting{{Name: "A", Value: fmt.Sprint(i)}}
			}
			rows = append(rows, r)
		}
		if w.chance(50) {
			rows = append(rows, selection.Rule{Key: "mixed", Mixed: true, Prefer: slices.Clone(phrases[:w.IntN(4)])})
		}
		if rules, err := selection.NewRules(rows); err == nil {
			return rules
		}
	}
	return selection.Rules{}
}

func (w world) input() selection.Input {
	in := selection.Input{Rules: w.rules()}
	for _, name := range generatedNames[:1+w.IntN(len(generatedNames)-1)] {
		in.Environments = append(in.Environments, w.environment(name))
	}
	for i := range 1 + w.IntN(4) {
		in.Groups = append(in.Groups, w.kind(i))
	}
	in.Wish = selection.Wish{GPU: w.chance(30), MultiNode: w.chance(80), Partitions: oneOf(w, nil, []string{"a"}, []string{"a", "b"}), Check: oneOf(w, "", selection.Strict, selection.Warn, selection.Off)}
	if w.chance(25) {
		in.Wish.Environment = oneOf(w, in.Environments...).Name
	}
	return in
}
