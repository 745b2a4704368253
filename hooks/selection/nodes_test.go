package selection_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
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

// A pin is small enough for a job's environment: 40 kinds and 16 environments, of
// four stacks, that nearly all are somebody's choice.
func TestPinnedPlanIsSmall(t *testing.T) {
	stacks := []stack.Stack{ucx, gasnet, {Family: stack.UCX, MPI: "openmpi 5", Networks: ucx.Networks}, {Family: stack.MPI, MPI: "site", Networks: facts.NetworkKinds()}}
	in := selection.Input{Wish: selection.Wish{MultiNode: true}}
	for i := range 16 {
		e := selection.Environment{Name: fmt.Sprintf("environment-%d", i), Rank: i + 1}
		st := stacks[i%4]
		st.GPU, st.UsesGPU = false, i%2 == 0
		for p, subdir := range subdirs {
			// Which environment fits is for the microarchitecture to say.
			e.Platforms = append(e.Platforms, selection.Candidate{Platform: subdir, Subdir: subdir, Stack: st, Alignment: 4096 << ((i + p) % 8), AlignmentPackage: "x 1"})
		}
		in.Environments = append(in.Environments, e)
	}
	for i := range 40 {
		g := gpuIB(t)
		g.Nodes = fmt.Sprintf("part%d-[1-250]", i)
		g.Kind.Subdir, g.Kind.PageSize = subdirs[i%2], 4096<<(i/2%8)
		g.Kind.Networks = []string{facts.NetworkKinds()[i%7]}
		g.Kind.Virtuals = virtuals(fmt.Sprintf("12.%d", i))
		g.Kind = sealed(t, g.Kind)
		in.Groups = append(in.Groups, g)
	}
	size := func(in selection.Input) (int, bool) {
		plan, err := selection.SelectLater(in)
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := plan.Pin(func(c *selection.Choice) string {
			sum := sha256.Sum256([]byte(c.Environment))
			return hex.EncodeToString(sum[:16])
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(pinned)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("undecided %v: %d bytes", plan.Undecided, len(data))
		return len(data), plan.Undecided
	}
	if n, undecided := size(in); n > 2500 || !undecided {
		t.Errorf("%d bytes, undecided %v", n, undecided)
	}
	in.Wish.MultiNode = false
	if n, _ := size(in); n > 2500 {
		t.Errorf("each alone: %d bytes", n)
	}
}

// What must be there before a job starts is all that some kind may get.
func TestWhatAPlanNeeds(t *testing.T) {
	plan, err := selection.SelectLater(job(gpuIB(t), ghSlingshot(t), cpuNodes(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cpu on linux-64", "default on linux-64", "default on linux-aarch64", "gex on linux-64", "gex on linux-aarch64"}
	var got []string
	for _, c := range plan.Environments() {
		got = append(got, c.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of the plan: %s", diff)
	}
	there := map[string]bool{}
	for _, c := range wired(t, plan).Choices() {
		there[c.String()] = true
	}
	for _, w := range want {
		if !there[w] {
			t.Errorf("%s is missing in the pin, which has %v", w, there)
		}
	}
}

// A pin that is not what was written is refused, and says what of it.
func TestBrokenPins(t *testing.T) {
	plan := mustSelect(t, job(gpuIB(t), cpuNodes(t)))
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(pinOf(t, plan), &fields); err != nil {
		t.Fatal(err)
	}
	for field, values := range map[string][]string{
		"v": {"2", `"x"`}, "m": {`"x"`}, "w": {"7", "-1"}, "k": {`"on"`}, "e": {`["..","a/b"]`, "[]"}, "p": {`["/"]`},
		"i": {`["!"]`, "[]", `["=a/b"]`}, "f": {"[]"}, "c": {`"AAA"`, `"//////8"`}, "o": {`"AA"`, `"/wE"`, `"AAL/////////"`}, "d": {`"AAAA"`, `"AAAAAAAAAAD//w=="`},
	} {
		before := fields[field]
		for _, v := range values {
			fields[field] = json.RawMessage(v)
			data, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			var p selection.PinnedPlan
			if err := json.Unmarshal(data, &p); !errors.Is(err, selection.ErrPinned) {
				t.Errorf("with %s: %s: %v", field, v, err)
			}
		}
		fields[field] = before
	}
	plan.Rows[0].Kind.Digest = "no digest"
	if _, err := plan.Pin(nil); !errors.Is(err, selection.ErrPinned) {
		t.Errorf("a digest that is none: %v", err)
	}
}
