package selection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// pinOf is the wire form of a plan.
func pinOf(t testing.TB, p *selection.Plan) []byte {
	t.Helper()
	pinned, err := p.Pin(func(c *selection.Choice) string { return fmt.Sprintf("%032x", len(c.Environment)) })
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(pinned)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wired sends a plan through its wire form, which does not depend on whether the
// plan was kept as JSON before.
func wired(t testing.TB, p *selection.Plan) *selection.PinnedPlan {
	t.Helper()
	data := pinOf(t, p)
	kept, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var read selection.Plan
	if err := json.Unmarshal(kept, &read); err != nil {
		t.Fatal(err)
	}
	if again := pinOf(t, &read); string(again) != string(data) {
		t.Fatalf("the pin of a plan read from JSON is\n%s\nnot\n%s", again, data)
	}
	var back selection.PinnedPlan
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(data) {
		t.Fatalf("read and written it differs (%v):\n%s\n%s", err, data, again)
	}
	return &back
}

// loader gives what in was selected from.
func loader(in selection.Input) func(string) (*selection.Loaded, error) {
	return func(string) (*selection.Loaded, error) {
		return &selection.Loaded{Environments: in.Environments, Rules: in.Rules}, nil
	}
}

func decide(t *testing.T, p *selection.PinnedPlan, g selection.Group, load func(string) (*selection.Loaded, error)) *selection.Decision {
	t.Helper()
	d, err := p.Decide(&g.Kind, load)
	if err != nil {
		t.Fatalf("%s: %v", g.Nodes, err)
	}
	return d
}

// A job that may run here or there is decided when its nodes are known.
func TestUndecidedPlanIsResolvedWhenTheNodesAreKnown(t *testing.T) {
	gpu, gh, cpu := gpuIB(t), ghSlingshot(t), cpuNodes(t)
	in := job(gpu, gh, cpu)
	plan, err := selection.SelectLater(in)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Undecided || plan.Wire != nil {
		t.Fatalf("undecided %v, wire %v", plan.Undecided, plan.Wire)
	}
	hasAll(t, strings.Join(plan.Warnings, "\n"), "refused when it starts", "GASNet-EX on gh / UCX on c, gpu", "next: --env-name=cpu runs on all of them")
	p := wired(t, plan)
	if _, err := p.Decide(&gpu.Kind, nil); !errors.Is(err, selection.ErrUndecided) {
		t.Errorf("a node of an undecided job: %v", err)
	}
	odd := v100(t)
	if _, err := p.Decide(&odd.Kind, loader(in)); !errors.Is(err, selection.ErrUndecided) {
		t.Errorf("a node of an unknown kind of an undecided job: %v", err)
	}

	for _, c := range []struct {
		on   []selection.Group
		want []string
	}{
		{[]selection.Group{gpu}, []string{"default"}},
		{[]selection.Group{gh}, []string{"gex"}},
		{[]selection.Group{gpu, cpu}, []string{"default", "cpu"}},
		{[]selection.Group{gpu, odd}, []string{"default"}}, // unknown: it decides for itself
	} {
		var digests []string
		for _, g := range c.on {
			digests = append(digests, g.Kind.Digest)
		}
		done, err := p.Resolve(digests)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if d := decide(t, done, c.on[i], nil); d.Environment != want {
				t.Errorf("%v: %s gets %s, want %s", digests, c.on[i].Nodes, d.Environment, want)
			}
		}
	}
	if _, err := p.Resolve([]string{gpu.Kind.Digest, gh.Kind.Digest}); !errors.Is(err, selection.ErrFamilies) {
		t.Errorf("InfiniBand and Slingshot: %v", err)
	}
	if _, err := p.Resolve([]string{"0123456789abcdef"}); !errors.Is(err, selection.ErrUndecided) {
		t.Errorf("unknown kinds only: %v", err)
	}
}

// What the site names for mixed jobs travels, too.
func TestMixedRuleTravels(t *testing.T) {
	gpu, gh := gpuIB(t), ghSlingshot(t)
	in := job(gpu, gh)
	in.Rules = site(t, selection.Rule{Key: "mixed", Mixed: true, Prefer: []string{"environment default"}})
	plan, err := selection.SelectLater(in)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Undecided || len(plan.Warnings) > 0 {
		t.Errorf("undecided %v, warnings %q", plan.Undecided, plan.Warnings)
	}
	done, err := wired(t, plan).Resolve([]string{gh.Kind.Digest, gpu.Kind.Digest})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []selection.Group{gpu, gh} {
		if d := decide(t, done, g, nil); d.Environment != "default" {
			t.Errorf("%s gets %s", g.Nodes, d.Environment)
		}
	}
	alone, err := wired(t, plan).Resolve([]string{gh.Kind.Digest})
	if err != nil {
		t.Fatal(err)
	}
	if d := decide(t, alone, gh, nil); d.Environment != "gex" {
		t.Errorf("gh alone gets %s", d.Environment)
	}
}

// Kinds that nothing fits are rows of a plan for nodes that are not known yet, and
// an error on such a node.
func TestLaterKeepsWhatSomeNodesCanRun(t *testing.T) {
	in := job(gpuIB(t), v100(t))
	in.Wish.GPU = true
	plan, err := selection.SelectLater(in)
	if err != nil {
		t.Fatal(err)
	}
	r := row(t, plan, v100(t))
	if r.Choice != nil || r.Problem == "" || plan.Undecided {
		t.Errorf("row %+v, undecided %v", r, plan.Undecided)
	}
	p := wired(t, plan)
	if _, err := p.Decide(&r.Kind, loader(in)); !errors.Is(err, selection.ErrNoFit) {
		t.Errorf("on v100: %v", err)
	}
	refused(t, in, selection.ErrNoFit)
	in.Groups = in.Groups[1:]
	if _, err := selection.SelectLater(in); !errors.Is(err, selection.ErrNoFit) {
		t.Errorf("nothing fits anywhere: %v", err)
	}
}

// One node talks to nobody: every kind has what is best for it.
func TestOneNodeNeedsNoCommonStack(t *testing.T) {
	in := job(gpuIB(t), ghSlingshot(t))
	in.Wish.MultiNode = false
	for name, sel := range map[string]func(selection.Input) (*selection.Plan, error){"now": selection.Select, "later": selection.SelectLater} {
		plan, err := sel(in)
		if err != nil {
			t.Fatal(name, err)
		}
		wants(t, plan, gpuIB(t), "default")
		wants(t, plan, ghSlingshot(t), "gex")
		if d := decide(t, wired(t, plan), ghSlingshot(t), nil); d.Environment != "gex" || plan.Undecided {
			t.Errorf("%s: the node gets %s, undecided %v", name, d.Environment, plan.Undecided)
		}
	}
}

// A kind that appeared since runs the selection under the wire of the job.
func TestUnknownKindUnderThePinnedWire(t *testing.T) {
	in := job(gpuIB(t))
	p := wired(t, mustSelect(t, in))
	d := decide(t, p, ghSlingshot(t), loader(in))
	if d.Environment != "default" || d.Platform != "linux-aarch64" || !d.Fresh || d.ID == "" {
		t.Errorf("decision %+v, want default with its id, fresh", d)
	}
	hasAll(t, strings.Join(d.Warnings, "\n"), "Slingshot-11", "TCP")
	v := v100(t)
	if d := decide(t, p, v, loader(in)); d.Environment != "cpu" {
		t.Errorf("old driver: %+v", d)
	}
	// A GPU job never ends up without.
	in.Wish.GPU = true
	p = wired(t, mustSelect(t, in))
	if _, err := p.Decide(&v.Kind, loader(in)); !errors.Is(err, selection.ErrNoFit) {
		t.Errorf("old driver in a GPU job: %v", err)
	}
	if _, err := p.Decide(&v.Kind, nil); !errors.Is(err, selection.ErrNoFit) {
		t.Errorf("without a loader: %v", err)
	}
	other := in
	other.Rules = site(t, selection.Rule{Key: "x", Prefer: []string{"UCX"}})
	if _, err := p.Decide(&v.Kind, loader(other)); !errors.Is(err, selection.ErrRules) {
		t.Errorf("other rules: %v", err)
	}
	failing := errors.New("the store hangs")
	if _, err := p.Decide(&v.Kind, func(string) (*selection.Loaded, error) { return nil, failing }); !errors.Is(err, failing) {
		t.Errorf("a loader that fails: %v", err)
	}
}

// A maintenance day matters only if the plan would be another.
func TestFactsThatChanged(t *testing.T) {
	in := job(gpuIB(t))
	p := wired(t, mustSelect(t, in))
	before := gpuIB(t).Kind.Digest
	newer := gpuIB(t)
	newer.Kind.Driver, newer.Kind.Virtuals = "580.65.06", virtuals("13.0")
	newer.Kind = sealed(t, newer.Kind)
	d := decide(t, p, newer, loader(in))
	if err := p.Changed(before, d); err != nil {
		t.Errorf("a newer driver: %v", err)
	}
	lost := gpuIB(t)
	lost.Kind.GPU, lost.Kind.Driver, lost.Kind.Virtuals = false, "", virtuals("")
	lost.Kind = sealed(t, lost.Kind)
	d = decide(t, p, lost, loader(in))
	if err := p.Changed(before, d); !errors.Is(err, selection.ErrChanged) || !strings.Contains(err.Error(), "default on linux-64") {
		t.Errorf("a lost GPU, which gives %s: %v", d, err)
	}
	if err := p.Changed("0123456789abcdef", d); err != nil {
		t.Errorf("a kind that was not planned for: %v", err)
	}
}

// Each node warns of a forced environment, once and with the reason if it can.
func TestForcedEnvironmentWarnsOnTheNode(t *testing.T) {
	in := job(v100(t))
	in.Wish.Environment, in.Wish.Check = "default", selection.Warn
	p := wired(t, mustSelect(t, in))
	if w := decide(t, p, v100(t), loader(in)).Warnings; len(w) != 1 || !strings.Contains(w[0], "520.61.05") {
		t.Errorf("warnings %q", w)
	}
	if w := decide(t, p, v100(t), nil).Warnings; len(w) != 1 || !strings.Contains(w[0], "does not fit") {
		t.Errorf("without a loader: warnings %q", w)
	}
}

func TestVariablesPerNetwork(t *testing.T) {
	choice := func(g selection.Group, rules selection.Rules) *selection.Choice {
		in := job(g)
		in.Rules = rules
		return &decide(t, wired(t, mustSelect(t, in)), g, nil).Choice
	}
	none := func(string) (string, bool) { return "", false }
	plain := selection.Rules{}
	because := cmpopts.IgnoreFields(selection.Setting{}, "Because")
	for name, c := range map[string]struct {
		got, want []selection.Setting
	}{
		"GASNet-EX on Slingshot-11": {choice(ghSlingshot(t), plain).Settings(nil, none), []selection.Setting{{Name: "FI_CXI_RDZV_THRESHOLD", Value: "256"}}},
		"UCX finds devices itself":  {choice(gpuIB(t), plain).Settings(nil, none), nil},
		"UCX when bound":            {choice(gpuIB(t), plain).Settings([]string{"mlx5_0:1", "mlx5_1:1"}, nil), []selection.Setting{{Name: "UCX_NET_DEVICES", Value: "mlx5_0:1,mlx5_1:1"}}},
		"GASNet-EX when bound":      {choice(ghSlingshot(t), plain).Settings([]string{"cxi0"}, none), []selection.Setting{{Name: "FI_CXI_RDZV_THRESHOLD", Value: "256"}}},
		"the user's own stays": {choice(ghSlingshot(t), plain).Settings(nil, func(n string) (string, bool) { return "", n == "FI_CXI_RDZV_THRESHOLD" }),
			[]selection.Setting{{Name: "FI_CXI_RDZV_THRESHOLD", Value: "256", Kept: true}}},
		"the site's first": {choice(ghSlingshot(t), site(t, selection.Rule{Key: "ss", Network: []string{facts.Slingshot11}, Set: []selection.RuleSetting{{Name: "FI_CXI_RDZV_THRESHOLD", Value: "2048"}, {Name: "A_B", Value: "x=y"}}})).Settings(nil, none),
			[]selection.Setting{{Name: "A_B", Value: "x=y"}, {Name: "FI_CXI_RDZV_THRESHOLD", Value: "2048"}}},
		"nothing over TCP": {(&selection.Choice{Family: stack.GASNet, Network: facts.Slingshot11}).Settings(nil, none), nil},
	} {
		if diff := cmp.Diff(c.want, c.got, because); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, s := range c.got {
			if s.Because == "" {
				t.Errorf("%s: %s without a reason", name, s.Name)
			}
		}
	}
}

// What a choice says of its network reaches the node for every network there is.
func TestEveryNetworkTravels(t *testing.T) {
	for _, n := range facts.NetworkKinds() {
		g := gpuIB(t)
		g.Kind.Networks = []string{n}
		g.Kind = sealed(t, g.Kind)
		in := job(g)
		in.Environments = in.Environments[:1]
		if d := decide(t, wired(t, mustSelect(t, in)), g, nil); d.Network != n {
			t.Errorf("%s arrives as %q", n, d.Network)
		}
	}
}
