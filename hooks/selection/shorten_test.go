package selection_test

import (
	"fmt"
	"testing"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// A shortened plan gives every kind what the whole one does.
func TestShortenedPlansDecideAlike(t *testing.T) {
	var groups []selection.Group
	for i := range 30 {
		k := cpuNodes(t).Kind
		if i%3 == 0 {
			k = gpuIB(t).Kind
		}
		k.Virtuals = append([]requirement.Virtual{{Name: "__extra", Version: fmt.Sprint(i)}}, k.Virtuals...)
		groups = append(groups, selection.Group{Kind: k.Sealed(), Nodes: fmt.Sprint("n", i), Count: 1})
	}
	in := job(groups...)
	in.Wish.MultiNode = false
	plan, err := selection.SelectLater(in)
	if err != nil {
		t.Fatal(err)
	}
	whole, short := wired(t, plan), wired(t, plan)
	if !short.Shorten() || short.Kinds() != 10 || whole.Kinds() != 30 {
		t.Fatalf("%d kinds of %d are left", short.Kinds(), whole.Kinds())
	}
	for _, g := range groups {
		if a, b := decide(t, whole, g, loader(in)), decide(t, short, g, loader(in)); !a.Same(&b.Choice) {
			t.Errorf("%s: %s, %s in the shortened plan", g.Nodes, &a.Choice, &b.Choice)
		}
	}
	in.Wish.MultiNode = true
	if plan, err = selection.SelectLater(job(gpuIB(t), ghSlingshot(t), cpuNodes(t))); err != nil {
		t.Fatal(err)
	}
	if p := wired(t, plan); p.Shorten() != (p.Decided || p.AloneEach) {
		t.Error("a plan that is to be resolved was shortened")
	}
}
