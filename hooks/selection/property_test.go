package selection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

const rounds = 1500

// each runs a property on generated selections and tells how many of them were
// plans: a property of plans must have met some.
func each(t *testing.T, check func(w world, in selection.Input) (planned bool)) {
	t.Helper()
	planned := 0
	for seed := range uint64(rounds) {
		w := newWorld(t, seed)
		if check(w, w.input()) {
			planned++
		}
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
	if planned < rounds/20 {
		t.Errorf("only %d of %d selections had a plan", planned, rounds)
	}
}

func environment(in *selection.Input, name string) *selection.Environment {
	i := slices.IndexFunc(in.Environments, func(e selection.Environment) bool { return e.Name == name })
	return &in.Environments[i]
}

func chosen(in *selection.Input, c *selection.Choice) *selection.Candidate {
	e := environment(in, c.Environment)
	i := slices.IndexFunc(e.Platforms, func(p selection.Candidate) bool { return p.Platform == c.Platform })
	return &e.Platforms[i]
}

func both(in selection.Input) []*selection.Plan {
	var out []*selection.Plan
	for _, sel := range []func(selection.Input) (*selection.Plan, error){selection.Select, selection.SelectLater} {
		if p, err := sel(in); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func choicesOf(r *selection.Row) []*selection.Choice {
	var out []*selection.Choice
	if r.Choice != nil {
		out = append(out, r.Choice)
	}
	for _, a := range r.Alternatives {
		if a.Choice != nil {
			out = append(out, a.Choice)
		}
	}
	return out
}

func TestPlansNeverMix(t *testing.T) {
	each(t, func(_ world, in selection.Input) bool {
		p, err := selection.Select(in)
		if err != nil || !in.Wish.MultiNode || len(p.Rows) < 2 {
			return false
		}
		mpi := map[string]bool{}
		for _, r := range p.Rows {
			if r.Choice.Family != p.Wire.Family {
				t.Errorf("%s has %s in a job with %s", r.Nodes, r.Choice.Family, p.Wire)
			}
			mpi[r.Choice.MPI] = true
		}
		if delete(mpi, ""); len(mpi) > 1 {
			t.Errorf("several MPIs: %v", mpi)
		}
		return true
	})
}

func TestNothingIsGivenThatDoesNotFit(t *testing.T) {
	each(t, func(_ world, in selection.Input) bool {
		plans := both(in)
		for _, p := range plans {
			for i := range p.Rows {
				r := &p.Rows[i]
				for _, c := range choicesOf(r) {
					checkFit(t, &in, r, c)
				}
				if (r.Choice == nil) != (r.Because == "") || (r.Choice == nil) != (r.Problem != "") {
					t.Errorf("%s: choice %v, because %q, problem %q", r.Nodes, r.Choice, r.Because, r.Problem)
				}
			}
		}
		return len(plans) > 0
	})
}

func checkFit(t *testing.T, in *selection.Input, r *selection.Row, c *selection.Choice) {
	t.Helper()
	cand := chosen(in, c)
	named := in.Wish.Environment == c.Environment
	if cand.Subdir != r.Kind.Subdir || cand.Problem != "" {
		t.Errorf("%s gets %s, which is not for it", r.Nodes, c)
	}
	if environment(in, c.Environment).Explicit && !named {
		t.Errorf("%s gets the explicit %s unasked", r.Nodes, c)
	}
	if in.Wish.Environment != "" && !named {
		t.Errorf("%s gets %s, and %s was named", r.Nodes, c, in.Wish.Environment)
	}
	if in.Wish.GPU && !named && (!cand.Stack.UsesGPU || !r.Kind.GPU) {
		t.Errorf("%s gets %s in a GPU job", r.Nodes, c)
	}
	fits := r.Kind.GPU || !cand.Stack.GPU
	node := requirement.Node{Virtuals: map[string]requirement.Virtual{}, Ancestors: r.Kind.Ancestors, Assumed: r.Kind.Assumed}
	for _, v := range r.Kind.Virtuals {
		node.Virtuals[v.Name] = v
	}
	for _, q := range cand.Requirements {
		fits = fits && requirement.Check(q, node).OK()
	}
	switch {
	case fits && c.Forced:
		t.Errorf("%s: %s fits and counts as forced", r.Nodes, c)
	case fits, named && in.Wish.Check == selection.Off:
	case !named || in.Wish.Check != selection.Warn || !c.Forced:
		t.Errorf("%s gets %s, which does not fit", r.Nodes, c)
	}
}

// outcome of a selection: the plan as JSON, or the error's text.
func outcome(t *testing.T, p *selection.Plan, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error()
	}
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	each(t, func(w world, in selection.Input) bool {
		p, err := selection.Select(in)
		later, errLater := selection.SelectLater(in)
		want, wantLater := outcome(t, p, err), outcome(t, later, errLater)
		w.Shuffle(len(in.Environments), func(i, j int) {
			in.Environments[i], in.Environments[j] = in.Environments[j], in.Environments[i]
		})
		w.Shuffle(len(in.Groups), func(i, j int) { in.Groups[i], in.Groups[j] = in.Groups[j], in.Groups[i] })
		q, err := selection.Select(in)
		if got := outcome(t, q, err); got != want {
			t.Errorf("in another order: %s", cmp.Diff(want, got))
		}
		q, err = selection.SelectLater(in)
		if got := outcome(t, q, err); got != wantLater {
			t.Errorf("later, in another order: %s", cmp.Diff(wantLater, got))
		}
		return p != nil
	})
}

// renamed gives all environments but default other names, in the rules and the
// wish, too.
func renamed(w world, in selection.Input) (selection.Input, map[string]string) {
	names := map[string]string{"default": "default"}
	fresh := []string{"q", "zz", "a", "default-2", "cpu", "gpu", "gex"}
	w.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	for i, name := range generatedNames[1:] {
		names[name] = fresh[i]
	}
	out := in
	out.Environments = slices.Clone(in.Environments)
	for i := range out.Environments {
		out.Environments[i].Name = names[out.Environments[i].Name]
	}
	if in.Wish.Environment != "" {
		out.Wish.Environment = names[in.Wish.Environment]
	}
	var rows []selection.Rule
	for _, r := range in.Rules.Table() {
		if !strings.HasPrefix(r.Key, "row-") && r.Key != "mixed" {
			continue
		}
		for i, p := range r.Prefer {
			if name, is := strings.CutPrefix(p, "environment "); is {
				r.Prefer[i] = "environment " + names[name]
			}
		}
		rows = append(rows, r)
	}
	out.Rules = site(w.t, rows...)
	return out, names
}

// skeleton of a plan: what is chosen where, with names as they were before.
func skeleton(p *selection.Plan, err error, names map[string]string) []string {
	back := func(name string) string {
		for before, after := range names {
			if after == name {
				return before
			}
		}
		return name
	}
	if err != nil {
		var e *selection.Error
		if !errors.As(err, &e) {
			return []string{"error"}
		}
		out := []string{"error " + e.Class.Error()}
		for _, n := range e.Tied {
			name, wire, _ := strings.Cut(n, " ")
			out = append(out, "tied "+back(name)+wire)
		}
		for _, c := range e.Common {
			out = append(out, fmt.Sprintf("common %s %s %q", back(c.Environment), c.Wire, c.TCP))
		}
		slices.Sort(out)
		return out
	}
	out := []string{fmt.Sprint(p.Wire, p.Undecided)}
	for i := range p.Rows {
		r := &p.Rows[i]
		for _, c := range choicesOf(r) {
			o := *c
			o.Environment = back(o.Environment)
			out = append(out, fmt.Sprintf("%s %+v", r.Nodes, o))
		}
		for _, a := range r.Alternatives {
			tied := slices.Clone(a.Tied)
			for i := range tied {
				tied[i] = back(tied[i])
			}
			slices.Sort(tied)
			out = append(out, fmt.Sprintf("%s %s %v %d %q", r.Nodes, a.Wire, a.Preferred, a.Mixed, tied))
		}
	}
	return out
}

func TestNamesDoNotMatter(t *testing.T) {
	same := map[string]string{}
	each(t, func(w world, in selection.Input) bool {
		other, names := renamed(w, in)
		p, err := selection.Select(in)
		q, errQ := selection.Select(other)
		if diff := cmp.Diff(skeleton(p, err, same), skeleton(q, errQ, names)); diff != "" {
			t.Errorf("under other names (%v): %s", names, diff)
		}
		p, err = selection.SelectLater(in)
		q, errQ = selection.SelectLater(other)
		if diff := cmp.Diff(skeleton(p, err, same), skeleton(q, errQ, names)); diff != "" {
			t.Errorf("later, under other names (%v): %s", names, diff)
		}
		return p != nil
	})
}

func TestAnotherEnvironmentBreaksNothingSilently(t *testing.T) {
	each(t, func(w world, in selection.Input) bool {
		more := in
		more.Environments = append(slices.Clone(in.Environments), w.environment("omega"))
		planned := false
		for _, sel := range []func(selection.Input) (*selection.Plan, error){selection.Select, selection.SelectLater} {
			if _, err := sel(in); err != nil {
				continue
			}
			planned = true
			_, err := sel(more)
			if err == nil {
				continue
			}
			var e *selection.Error
			if !errors.As(err, &e) {
				t.Errorf("with another environment: %v", err)
				continue
			}
			switch {
			case e.Class == selection.ErrAmbiguous && len(e.Tied) >= 2 && strings.Contains(err.Error(), strings.Join(e.Tied, ", ")):
			case e.Class == selection.ErrFamilies && strings.Contains(err.Error(), "omega"):
			default:
				t.Errorf("with another environment, and no list of the candidates: %v", err)
			}
		}
		return planned
	})
}
