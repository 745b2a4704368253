package selection_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

func row(t *testing.T, p *selection.Plan, g selection.Group) *selection.Row {
	t.Helper()
	r := p.Row(g.Kind.Digest)
	if r == nil {
		t.Fatalf("the plan has no row for %s", g.Nodes)
	}
	return r
}

func wants(t *testing.T, p *selection.Plan, g selection.Group, environment string) *selection.Row {
	t.Helper()
	r := row(t, p, g)
	if r.Choice == nil || r.Choice.Environment != environment {
		t.Errorf("%s: got %v, want %s (rejected %+v)", g.Nodes, r.Choice, environment, r.Rejected)
	}
	return r
}

func mustSelect(t *testing.T, in selection.Input) *selection.Plan {
	t.Helper()
	p, err := selection.Select(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func refused(t *testing.T, in selection.Input, class error) *selection.Error {
	t.Helper()
	p, err := selection.Select(in)
	var e *selection.Error
	if !errors.As(err, &e) || !errors.Is(err, class) {
		t.Fatalf("got plan %+v and error %v, want one of class %v", p, err, class)
	}
	return e
}

func hasAll(t *testing.T, text string, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}

// Each kind alone gets what the table says.
func TestEachKindAlone(t *testing.T) {
	for _, c := range []struct {
		group    selection.Group
		want     string
		because  string
		platform string
		warning  string
	}{
		{gpuIB(t), "default", "UCX drives InfiniBand", "linux-64", ""},
		{ghSlingshot(t), "gex", "UCX would fall back to TCP", "linux-aarch64", ""},
		{xgSlingshot(t), "gex", "UCX would fall back to TCP", "linux-64", ""},
		{armIB(t), "default", "UCX drives InfiniBand", "linux-aarch64", ""},
		{cpuNodes(t), "cpu", "UCX over TCP; nothing else fits", "linux-64", ""},
	} {
		r := wants(t, mustSelect(t, job(c.group)), c.group, c.want)
		if r.Choice == nil {
			continue
		}
		if r.Choice.Platform != c.platform || !strings.Contains(r.Because, c.because) {
			t.Errorf("%s: platform %s because %q, want %s because %q", c.group.Nodes, r.Choice.Platform, r.Because, c.platform, c.because)
		}
		if c.warning == "" && len(r.Warnings) > 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.group.Nodes, r.Warnings, c.warning)
		}
	}
}

// The moment "submitting what cannot work".
func TestRefusalNamesHasNeedsAndPackage(t *testing.T) {
	in := job(v100(t))
	in.Wish.GPU = true
	e := refused(t, in, selection.ErrNoFit)
	hasAll(t, e.Error(),
		"v100[01-40]  default, gex  has driver 520.61.05", "needs >= 525.60.13 (cuda-version 12.9, cupy 13.4.1)",
		"v100[01-40]  cpu           fits, but without GPU",
		"next: --env-name=cpu runs on these nodes, without GPU")
}

// The moment "planning": two stacks, and the environment that runs on both.
func TestInfiniBandAndSlingshotAreRefused(t *testing.T) {
	e := refused(t, job(gpuIB(t), ghSlingshot(t)), selection.ErrFamilies)
	hasAll(t, e.Error(), "gh[01-24]     gex      UCX would fall back to TCP", "gpu[001-096]  default  UCX drives InfiniBand",
		"GASNet-EX / UCX", "--env-name=default runs on both, TCP on gh")
	if i := slices.IndexFunc(e.Common, func(c selection.Common) bool { return c.Environment == "default" }); i != 0 {
		t.Errorf("common environments %+v, want default first", e.Common)
	}
	for _, c := range e.Common {
		if c.Environment == "gex" && !slices.Equal(c.TCP, []string{"gpu"}) {
			t.Errorf("gex has TCP on %q", c.TCP)
		}
	}
}

// Naming it runs it on both, with a warning where the fabric stays unused.
func TestNamedRunsOverTCPWithAWarning(t *testing.T) {
	gpu, gh := gpuIB(t), ghSlingshot(t)
	in := job(gpu, gh)
	in.Wish.Environment = "default"
	p := mustSelect(t, in)
	if r := wants(t, p, gpu, "default"); len(r.Warnings) > 0 {
		t.Errorf("a warning on InfiniBand: %q", r.Warnings)
	}
	hasAll(t, strings.Join(wants(t, p, gh, "default").Warnings, "\n"), "no transport for Slingshot-11", "TCP")
	if p.Wire == nil || p.Wire.Family != stack.UCX {
		t.Errorf("wire %v", p.Wire)
	}
}

// The site's rules may name what mixed jobs get, by stack or by name.
func TestSiteNamesTheCommonEnvironment(t *testing.T) {
	gpu, gh := gpuIB(t), ghSlingshot(t)
	for _, prefer := range []string{"UCX", "UCX with GPU", "environment default"} {
		in := job(gpu, gh)
		rules, err := selection.NewRules([]selection.Rule{{Key: "mixed", Mixed: true, Prefer: []string{"MPI", prefer}}})
		if err != nil {
			t.Fatal(err)
		}
		in.Rules = rules
		p := mustSelect(t, in)
		wants(t, p, gpu, "default")
		hasAll(t, wants(t, p, gh, "default").Because, "rule mixed", "UCX over TCP")
	}
}

func TestX86AndArmOverInfiniBandShareDefault(t *testing.T) {
	p := mustSelect(t, job(gpuIB(t), armIB(t)))
	wants(t, p, gpuIB(t), "default")
	if r := wants(t, p, armIB(t), "default"); r.Choice.Platform != "linux-aarch64" {
		t.Errorf("platform %s", r.Choice.Platform)
	}
}

// Different environments may run together if they talk to one another.
func TestGPUAndCPUNodesOfOneStack(t *testing.T) {
	p := mustSelect(t, job(gpuIB(t), cpuNodes(t)))
	wants(t, p, gpuIB(t), "default")
	wants(t, p, cpuNodes(t), "cpu")
}

// An environment that brings nothing to communicate with mixes with nothing else.
func TestNoneMixesWithNoneOnly(t *testing.T) {
	in := job(gpuIB(t), cpuNodes(t))
	in.Environments[1].Platforms = onBoth(selection.Candidate{})
	refused(t, in, selection.ErrFamilies)
	in.Environments[0].Platforms = onBoth(selection.Candidate{Stack: stack.Stack{UsesGPU: true, GPU: true}})
	p := mustSelect(t, selection.Input{Environments: in.Environments[:2], Groups: in.Groups, Wish: in.Wish})
	wants(t, p, gpuIB(t), "default")
	wants(t, p, cpuNodes(t), "cpu")
}

// Implementations of MPI do not talk to one another; an environment without MPI
// runs beside any.
func TestMPIMustBeOne(t *testing.T) {
	in := job(gpuIB(t), cpuNodes(t))
	set := func(env int, mpi string) {
		for i := range in.Environments[env].Platforms {
			in.Environments[env].Platforms[i].Stack.MPI = mpi
		}
	}
	set(0, "openmpi 5")
	set(1, "mpich 4")
	hasAll(t, refused(t, in, selection.ErrFamilies).Error(), "UCX with openmpi 5", "UCX with mpich 4")
	set(1, "")
	if p := mustSelect(t, in); p.Wire.MPI != "openmpi 5" {
		t.Errorf("wire %v", p.Wire)
	}
}

func TestOrderAmongThoseThatFit(t *testing.T) {
	named := func(n int) func(*selection.Input) {
		return func(in *selection.Input) { in.Environments[n].Name = "main" }
	}
	for name, c := range map[string]struct {
		group  selection.Group
		change func(*selection.Input)
		want   string
	}{
		"the wish before all":           {gpuIB(t), func(in *selection.Input) { in.Wish.Environment = "cpu"; in.Wish.GPU = true }, "cpu"},
		"the manifest before the rules": {ghSlingshot(t), func(in *selection.Input) { in.Environments[0].Rank = 1 }, "default"},
		"the rules before the name":     {ghSlingshot(t), func(*selection.Input) {}, "gex"},
		"GPU before none, by the table": {gpuIB(t), named(0), "main"},
		"native before TCP":             {ghSlingshot(t), func(in *selection.Input) { in.Rules = without(t, "gpu-slingshot-11") }, "gex"},
		"default last":                  {gpuIB(t), func(in *selection.Input) { in.Environments[2].Platforms = in.Environments[0].Platforms }, "default"},
		"explicit ones only when named": {gpuIB(t), func(in *selection.Input) { in.Environments[0].Explicit = true }, "gex"},
		"a named explicit one":          {gpuIB(t), func(in *selection.Input) { in.Environments[2].Explicit = true; in.Wish.Environment = "gex" }, "gex"},
		"a site's row before a default": {gpuIB(t), func(in *selection.Input) {
			in.Rules = site(t, selection.Rule{Key: "all", Prefer: []string{"GASNet-EX"}})
		}, "gex"},
		"a row for a partition":          {gpuIB(t), partition(t, "tcp"), "gex"},
		"not in another partition":       {gpuIB(t), partition(t, "tcp", "other"), "default"},
		"one that cannot be made is out": {gpuIB(t), func(in *selection.Input) { in.Environments[0].Platforms[0].Problem = "no such file" }, "gex"},
	} {
		t.Run(name, func(t *testing.T) {
			in := job(c.group)
			c.change(&in)
			wants(t, mustSelect(t, in), c.group, c.want)
		})
	}
}

// site makes rules of rows.
func site(t testing.TB, rows ...selection.Rule) selection.Rules {
	t.Helper()
	r, err := selection.NewRules(rows)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// without replaces a default row by one that prefers nothing.
func without(t *testing.T, key string) selection.Rules {
	t.Helper()
	for _, r := range selection.DefaultRules() {
		if r.Key == key {
			r.Prefer = nil
			return site(t, r)
		}
	}
	t.Fatalf("there is no default row %s", key)
	return selection.Rules{}
}

func partition(t *testing.T, names ...string) func(*selection.Input) {
	return func(in *selection.Input) {
		in.Rules = site(t, selection.Rule{Key: "tcp", Partition: []string{"tcp"}, Prefer: []string{"GASNet-EX"}})
		in.Wish.Partitions = names
	}
}

func TestAmbiguityListsTheCandidates(t *testing.T) {
	in := job(gpuIB(t))
	in.Environments[0].Name, in.Environments[2].Name = "train", "bench"
	in.Environments[2].Platforms = in.Environments[0].Platforms
	e := refused(t, in, selection.ErrAmbiguous)
	if !slices.Equal(e.Tied, []string{"bench", "train"}) {
		t.Errorf("tied %q", e.Tied)
	}
	hasAll(t, e.Error(), "bench, train", "--env-name=bench")
}

func TestChecks(t *testing.T) {
	in := job(v100(t))
	in.Wish.Environment = "default"
	hasAll(t, refused(t, in, selection.ErrNoFit).Error(), "has driver 520.61.05", "--env-check=warn")

	in.Wish.Check = selection.Warn
	r := wants(t, mustSelect(t, in), v100(t), "default")
	if !r.Choice.Forced || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "has driver 520.61.05") {
		t.Errorf("forced %v, warnings %q, want one with the driver", r.Choice.Forced, r.Warnings)
	}
	in.Wish.Check = selection.Off
	if r := wants(t, mustSelect(t, in), v100(t), "default"); r.Choice.Forced || len(r.Warnings) != 0 {
		t.Errorf("forced %v, warnings %q with the check off", r.Choice.Forced, r.Warnings)
	}
	// What nobody named is chosen among those that fit, whatever the check.
	in.Wish.Environment, in.Wish.GPU = "", true
	refused(t, in, selection.ErrNoFit)
	// No mode finds an environment that is not there.
	in = job(ghSlingshot(t))
	in.Wish.Environment, in.Wish.Check = "cpu", selection.Off
	in.Environments[1].Platforms = in.Environments[1].Platforms[:1]
	hasAll(t, refused(t, in, selection.ErrNoFit).Error(), "is not locked for linux-aarch64")

	if _, err := selection.ParseCheck("on"); !errors.Is(err, selection.ErrWish) {
		t.Errorf("--env-check=on: %v", err)
	}
	in.Wish.Check = "on"
	if _, err := selection.Select(in); !errors.Is(err, selection.ErrWish) {
		t.Errorf("a wish with the check on: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*selection.Input)
		class  error
		text   string
	}{
		"no node":             {func(in *selection.Input) { in.Groups = nil }, selection.ErrInput, "hpcenv nodes"},
		"no environment":      {func(in *selection.Input) { in.Environments = nil }, selection.ErrInput, "no environment"},
		"one name twice":      {func(in *selection.Input) { in.Environments[1].Name = "default" }, selection.ErrInput, "default"},
		"no digest":           {func(in *selection.Input) { in.Groups[0].Kind.Digest = "" }, selection.ErrInput, "gpu[001-096]"},
		"unknown environment": {func(in *selection.Input) { in.Wish.Environment = "gpu" }, selection.ErrWish, "it has cpu, default, gex"},
	} {
		in := job(gpuIB(t))
		c.change(&in)
		if _, err := selection.Select(in); !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want class %v with %q", name, err, c.class, c.text)
		}
		if _, err := selection.SelectLater(in); !errors.Is(err, c.class) {
			t.Errorf("%s: later: %v", name, err)
		}
	}
}

// A lock without the node's platform, and a machine that nobody serves.
func TestPlatformsThatAreNotThere(t *testing.T) {
	in := job(ghSlingshot(t))
	for i := range in.Environments {
		in.Environments[i].Platforms = in.Environments[i].Platforms[:1]
	}
	hasAll(t, refused(t, in, selection.ErrNoFit).Error(), "gh[01-24]", "is not locked for linux-aarch64")
	odd := ghSlingshot(t)
	odd.Kind.Subdir = ""
	hasAll(t, refused(t, job(odd), selection.ErrNoFit).Error(), "does not serve this machine")
}

// Pages larger than a program's layout.
func TestPageSize(t *testing.T) {
	in := job(ghSlingshot(t))
	for i := range in.Environments {
		p := &in.Environments[i].Platforms[1]
		p.Alignment, p.AlignmentPackage = 4096, "jemalloc 5.2"
	}
	hasAll(t, refused(t, in, selection.ErrNoFit).Error(), "has pages of 64 KiB", "4 KiB (jemalloc 5.2)")
	in.Environments[2].Platforms[1].Alignment = 65536
	wants(t, mustSelect(t, in), ghSlingshot(t), "gex")
}

func TestAssumedNodesSaySo(t *testing.T) {
	g := gpuIB(t)
	g.Kind.Assumed, g.Kind.Networks, g.Kind.Driver = true, nil, ""
	g.Kind.Virtuals = nil
	r := wants(t, mustSelect(t, job(g)), g, "default")
	hasAll(t, strings.Join(r.Warnings, "\n"), "never looked at")
}

// A GPU that no environment can use is none: a driver without CUDA.
func TestGPUWithoutCUDA(t *testing.T) {
	g := gpuIB(t)
	g.Kind.Virtuals = virtuals("")
	g.Kind = sealed(t, g.Kind)
	wants(t, mustSelect(t, job(g)), g, "cpu")
	in := job(g)
	in.Environments[0].Platforms[0].Stack.GPU = false
	in.Environments[0].Platforms[0].Requirements = nil
	in.Wish.GPU = true
	hasAll(t, refused(t, in, selection.ErrNoFit).Error(), "these nodes have none that can be used")
}

// Two platforms of one subdir: the one that uses the GPU on nodes that have one.
func TestTwoPlatformsOfOneSubdir(t *testing.T) {
	plain := selection.Candidate{Platform: "linux-64", Subdir: "linux-64"}
	cuda := selection.Candidate{Platform: "linux-64-cuda", Subdir: "linux-64", Stack: stack.Stack{GPU: true, UsesGPU: true}}
	cuda.Requirements = append(cuda.Requirements, cuda12())
	for _, platforms := range [][]selection.Candidate{{plain, cuda}, {cuda, plain}} {
		in := job(gpuIB(t), cpuNodes(t))
		in.Environments = []selection.Environment{{Name: "x", Platforms: platforms}}
		p := mustSelect(t, in)
		if got := row(t, p, gpuIB(t)).Choice.Platform; got != "linux-64-cuda" {
			t.Errorf("GPU nodes get %s", got)
		}
		if got := row(t, p, cpuNodes(t)).Choice.Platform; got != "linux-64" {
			t.Errorf("other nodes get %s", got)
		}
		// What fits comes before what is forced.
		in = selection.Input{Environments: in.Environments, Groups: []selection.Group{v100(t)}, Wish: selection.Wish{Environment: "x", Check: selection.Warn}}
		if r := row(t, mustSelect(t, in), v100(t)); r.Choice.Platform != "linux-64" || r.Choice.Forced {
			t.Errorf("an old driver gets %+v", r.Choice)
		}
	}
}

func TestNoCommonFabricIsSaid(t *testing.T) {
	ib := gpuIB(t)
	roce := gpuIB(t)
	roce.Nodes, roce.Kind.Networks = "r[1-4]", []string{facts.RoCE, facts.Ethernet}
	roce.Kind = sealed(t, roce.Kind)
	p := mustSelect(t, job(ib, roce))
	hasAll(t, strings.Join(p.Warnings, "\n"), "InfiniBand (gpu) and RoCE (r)", "no common fabric")
}
