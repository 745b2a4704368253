package selection_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

func lookup(set map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := set[name]; return v, ok }
}

// What a submission makes of a kind that it knows from the inventory is what a node
// makes of its facts.
func TestOverridesMeanTheSameAtSubmitAndOnTheNode(t *testing.T) {
	for _, tree := range []string{"gh-ss11", "eth"} {
		f := facts.Read(t.Context(), factstest.Tree(t, tree))
		known := selection.KindOf(f, nil)
		for _, set := range []map[string]string{
			nil, {"CONDA_OVERRIDE_CUDA": "13.0"}, {"CONDA_OVERRIDE_CUDA": ""}, {"CONDA_OVERRIDE_CUDA_ARCH": "8.0"}, {"CONDA_OVERRIDE_GLIBC": "2.17"},
			{"CONDA_OVERRIDE_ARCHSPEC": "zen4", "CONDA_OVERRIDE_LINUX": ""}, {"CONDA_OVERRIDE_ARCHSPEC": ""}, {"CONDA_OVERRIDE_CUDA": "12", "CONDA_OVERRIDE_CUDA_ARCH": ""},
		} {
			if d := cmp.Diff(selection.KindOf(f, lookup(set)), known.Overridden(lookup(set))); d != "" {
				t.Errorf("%s with %v: %s", tree, set, d)
			}
		}
	}
}

func TestOverridesTravelInThePin(t *testing.T) {
	in := job(gpuIB(t))
	var err error
	if in.Wish.Overrides, err = selection.Overrides(lookup(map[string]string{"CONDA_OVERRIDE_CUDA": " 12.2 ", "CONDA_OVERRIDE_ARCHSPEC": "zen4", "CONDA_OTHER": "x"})); err != nil {
		t.Fatal(err)
	}
	plan, err := selection.Select(in)
	if err != nil {
		t.Fatal(err)
	}
	back := wired(t, plan)
	if d := cmp.Diff(map[string]string{"CONDA_OVERRIDE_CUDA": "12.2", "CONDA_OVERRIDE_ARCHSPEC": "zen4"}, back.Wish.Overrides); d != "" {
		t.Error(d)
	}
	// A pin is a user's to write.
	for _, bad := range []string{`["PATH=/x"]`, `["CONDA_OVERRIDE_CUDA"]`, `["CONDA_OVERRIDE_CUDA=1","CONDA_OVERRIDE_CUDA=2"]`, `["CONDA_OVERRIDE_CUDA=a/b"]`, `[""]`} {
		text := strings.Replace(string(pinOf(t, plan)), `"x":["CONDA_OVERRIDE_ARCHSPEC=zen4","CONDA_OVERRIDE_CUDA=12.2"]`, `"x":`+bad, 1)
		if !strings.Contains(text, bad) {
			t.Fatal(text)
		}
		if err := json.Unmarshal([]byte(text), new(selection.PinnedPlan)); !errors.Is(err, selection.ErrPinned) {
			t.Errorf("%s: %v, want it refused", bad, err)
		}
	}
}

func TestOverridesThatAreNoVersionAreRefused(t *testing.T) {
	for name, value := range map[string]string{"CONDA_OVERRIDE_GLIBC": "a/b", "CONDA_OVERRIDE_CUDA": strings.Repeat("1", 100), "CONDA_OVERRIDE_ARCHSPEC": "a\nb"} {
		_, err := selection.Overrides(lookup(map[string]string{name: value}))
		if !errors.Is(err, selection.ErrWish) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%q: %v", name, value, err)
		}
	}
}
