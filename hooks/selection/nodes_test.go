package selection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/hooks/selection"
)

// What a node decides is what the plan says; what is decided later is what would
// have been decided had the nodes been known.
func TestNodesDecideWhatThePlanSays(t *testing.T) {
	undecided := 0
	each(t, func(w world, in selection.Input) bool {
		plans := both(in)
		for _, p := range plans {
			pinned := wired(t, p)
			if p.Undecided {
				undecided++
				compareResolved(t, w, in, pinned)
				continue
			}
			for i := range p.Rows {
				compareDecision(t, pinned, &p.Rows[i], loader(in))
			}
		}
		return len(plans) > 0
	})
	if undecided < rounds/50 {
		t.Errorf("only %d plans were undecided", undecided)
	}
}

func compareDecision(t *testing.T, pinned *selection.PinnedPlan, r *selection.Row, load func(string) (*selection.Loaded, error)) {
	t.Helper()
	d, err := pinned.Decide(&r.Kind, load)
	if r.Choice == nil {
		if !errors.Is(err, selection.ErrNoFit) {
			t.Errorf("%s: the plan has nothing, the node %v, %v", r.Nodes, d, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: the plan has %s, the node: %v", r.Nodes, r.Choice, err)
		return
	}
	if diff := cmp.Diff(*r.Choice, d.Choice, cmpopts.IgnoreFields(selection.Choice{}, "ID")); diff != "" {
		t.Errorf("%s: plan and node: %s", r.Nodes, diff)
	}
	if diff := cmp.Diff(r.Warnings, d.Warnings); diff != "" {
		t.Errorf("%s: warnings of plan and node: %s", r.Nodes, diff)
	}
}

func compareResolved(t *testing.T, w world, in selection.Input, pinned *selection.PinnedPlan) {
	t.Helper()
	part := in
	part.Groups = nil
	var digests []string
	for _, i := range w.Perm(len(in.Groups))[:1+w.IntN(len(in.Groups))] {
		part.Groups = append(part.Groups, in.Groups[i])
		digests = append(digests, in.Groups[i].Kind.Digest)
	}
	p, err := selection.Select(part)
	done, errDone := pinned.Resolve(digests)
	var e *selection.Error
	if errors.As(err, &e) {
		if !errors.Is(errDone, e.Class) {
			t.Errorf("selected among the known nodes: %v; resolved later: %v", err, errDone)
		}
		return
	}
	if err != nil || errDone != nil {
		t.Errorf("known: %v; resolved: %v", err, errDone)
		return
	}
	for i := range p.Rows {
		compareDecision(t, done, &p.Rows[i], loader(in))
	}
}

// A pin is small enough for a job's environment: 40 kinds and 16 environments.
func TestPinnedPlanIsSmall(t *testing.T) {
	w := world{rand.New(rand.NewPCG(1, 2)), t}
	in := selection.Input{Wish: selection.Wish{MultiNode: true}}
	for i := range 16 {
		e := selection.Environment{Name: fmt.Sprintf("environment-%d", i)}
		if i == 0 {
			e.Name = "default"
		}
		for _, subdir := range subdirs {
			c := selection.Candidate{Platform: subdir, Subdir: subdir, Stack: oneOf(w, ucx, gasnet)}
			if i == 1 {
				c.Stack.GPU, c.Stack.UsesGPU, c.Stack.Family = false, false, ucx.Family
			}
			e.Platforms = append(e.Platforms, c)
		}
		in.Environments = append(in.Environments, e)
	}
	for i := range 40 {
		g := w.kind(i)
		g.Kind.PageSize = i // kinds of their own
		g.Kind = sealed(t, g.Kind)
		in.Groups = append(in.Groups, g)
	}
	in.Environments[0].Rank, in.Environments[1].Rank = 1, 2
	for name, sel := range map[string]func(selection.Input) (*selection.Plan, error){"decided": selection.Select, "undecided": selection.SelectLater} {
		plan, err := sel(in)
		if err != nil {
			if name == "decided" {
				in.Wish.Environment = "environment-1"
				plan, err = sel(in)
				in.Wish.Environment = ""
			}
			if err != nil {
				t.Fatal(name, err)
			}
		}
		pinned, err := plan.Pin(func(c *selection.Choice) string { return fmt.Sprintf("%032x", len(c.Environment)*7919) })
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(pinned)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 2500 {
			t.Errorf("%s: %d bytes:\n%s", name, len(data), data)
		}
	}
}
