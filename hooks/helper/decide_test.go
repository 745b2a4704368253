package helper

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// planFor is a pin's plan of an environment that asks for nothing, on nodes of a kind.
func planFor(t *testing.T, k selection.Kind) *selection.PinnedPlan {
	t.Helper()
	env := selection.Environment{Name: "default", Platforms: []selection.Candidate{{Platform: hostPlatform(), Subdir: hostPlatform()}}}
	plan, err := selection.Select(selection.Input{Environments: []selection.Environment{env}, Groups: []selection.Group{{Kind: k, Nodes: "n1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := plan.Pin(nil)
	if err != nil {
		t.Fatal(err)
	}
	return pinned
}

// A node that became another kind while the job waited (a newer driver, a newer kernel)
// still gets what it would have got: of a lock that names no environments, too.
func TestNodesOfNewKindsDecide(t *testing.T) {
	other := selection.Kind{Subdir: hostPlatform(), Virtuals: []requirement.Virtual{{Name: "__glibc", Version: "0.1"}}}.Sealed()
	store, none := t.TempDir(), func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		wish bool
		want int
	}{{true, 0}, {false, api.ExitLate}} {
		p := testPin(func(p *pin.Pin) { p.Plan, p.Wish = planFor(t, other), c.wish })
		_, err := decide(context.Background(), p, store, filepath.Join(store, "none"), none)
		if got := exitCode(err); err != nil && got != c.want || err == nil && c.want != 0 {
			t.Errorf("wish %v: %v, want exit code %d", c.wish, err, c.want)
		}
	}
}

// What a script sets for other tools does not make its steps' nodes something else.
func TestVariablesOfTheJobChangeNoDecision(t *testing.T) {
	store := t.TempDir()
	p := testPin(func(p *pin.Pin) { p.Plan = planFor(t, selection.KindOf(facts.Read(t.Context(), "/"), nil)) })
	env := func(name string) (string, bool) { return "1.0", name == "CONDA_OVERRIDE_GLIBC" }
	if _, err := decide(context.Background(), p, store, filepath.Join(store, "none"), env); err != nil {
		t.Error(err)
	}
}

// What is to be said of a choice, the submission has said of the kinds of nodes that it
// chose for; not of others, nor of what a step chose.
func TestWhatTheSubmissionTold(t *testing.T) {
	store, none := t.TempDir(), func(string) (string, bool) { return "", false }
	here := selection.KindOf(facts.Read(t.Context(), "/"), nil)
	other := selection.Kind{Subdir: hostPlatform(), Virtuals: []requirement.Virtual{{Name: "__glibc", Version: "0.1"}}}.Sealed()
	for _, c := range []struct {
		kind selection.Kind
		step bool
		want bool
	}{{here, false, true}, {here, true, false}, {other, false, false}} {
		p := testPin(func(p *pin.Pin) { p.Plan, p.Wish, p.Step = planFor(t, c.kind), true, c.step })
		d, err := decide(context.Background(), p, store, filepath.Join(store, "none"), none)
		if err != nil {
			t.Fatal(err)
		}
		if d.told != c.want {
			t.Errorf("step %v, kind of the submission %v: told %v", c.step, c.kind.Digest == here.Digest, d.told)
		}
	}
}
