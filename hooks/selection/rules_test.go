package selection_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/selection"
)

func TestContradictoryRulesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		// pieces of the error; nil = they are fine.
		want []string
	}{
		"neither is more specific": {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, network: [infiniband], prefer: [MPI]}",
			[]string{"a and b contradict", "nodes with a GPU and network infiniband", "narrow one"}},
		"the same nodes":              {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, gpu: true, prefer: [MPI]}", []string{"a and b"}},
		"all nodes":                   {"- {key: a, prefer: [UCX]}\n- {key: b, prefer: [MPI]}", []string{"all nodes"}},
		"lists that overlap":          {"- {key: a, partition: [p, q], prefer: [UCX]}\n- {key: b, partition: [q, r], prefer: [MPI]}", []string{"partition q"}},
		"variables":                   {"- {key: a, gpu: true, set: [{name: A, value: x}]}\n- {key: b, architecture: [aarch64], set: [{name: A, value: y}]}", []string{"variables", "architecture linux-aarch64"}},
		"two rows for mixed jobs":     {"- {key: mixed, mixed: true, prefer: [UCX]}\n- {key: b, mixed: true, prefer: [MPI]}", []string{"b and mixed"}},
		"one is more specific":        {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, gpu: true, network: [infiniband], prefer: [MPI]}", nil},
		"a third settles it":          {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, network: [infiniband], prefer: [MPI]}\n- {key: c, gpu: true, network: [infiniband], prefer: [none]}", nil},
		"a third that is too narrow":  {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, network: [infiniband], prefer: [MPI]}\n- {key: c, gpu: true, network: [infiniband], architecture: [x86_64], prefer: [none]}", []string{"a and b"}},
		"the same answer":             {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, network: [infiniband], prefer: [ucx]}", nil},
		"other questions":             {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, network: [infiniband], set: [{name: A, value: x}]}", nil},
		"no node matches both":        {"- {key: a, gpu: true, prefer: [UCX]}\n- {key: b, gpu: false, prefer: [MPI]}", nil},
		"a site and a default row":    {"- {key: a, partition: [p], prefer: [MPI]}", nil},
		"a row and one for all":       {"- {key: a, prefer: [MPI]}\n- {key: b, partition: [p], prefer: [UCX]}", nil},
		"a key twice":                 {"- {key: a, gpu: true}\n- {key: a, gpu: false}", []string{"two rows have the key a"}},
		"no key":                      {"- {gpu: true}", []string{"key"}},
		"unknown field":               {"- {key: a}\n- {key: b, netwrok: [infiniband]}", []string{"line 2", "netwrok", "network"}},
		"unknown network":             {"- {key: a, network: [infinband]}", []string{"infinband", "infiniband, omni-path"}},
		"unknown preference":          {"- {key: a, prefer: [gex]}", []string{`"gex"`, "environment NAME"}},
		"preferred twice":             {"- {key: a, prefer: [UCX, ucx]}", []string{"twice"}},
		"no variable":                 {"- {key: a, set: [{name: 1A, value: x}]}", []string{"1A"}},
		"a variable that is not its":  {"- {key: a, set: [{name: LD_PRELOAD, value: x}]}", []string{"LD_PRELOAD"}},
		"variables for mixed jobs":    {"- {key: a, mixed: true, set: [{name: A, value: x}]}", []string{"mixed"}},
		"not a list":                  {"rules: 7", []string{"line 1"}},
		"two documents":               {"- {key: a}\n---\n- {key: b}", []string{"document"}},
		"gpu is no truth":             {"- {key: a, gpu: maybe}", []string{"line 1"}},
		"with the key of the mapping": {"rules:\n  - {key: a, gpu: yes, prefer: [UCX with GPU]}", nil},
		"empty":                       {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := selection.ReadRules([]byte(c.yaml))
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, selection.ErrRules) {
				t.Fatalf("got %v, want an error of the rules", err)
			}
			hasAll(t, err.Error(), c.want...)
		})
	}
}

// The digest is over what the rules say, not over how it is written.
func TestRulesDigest(t *testing.T) {
	digest := func(yaml string) string {
		r, err := selection.ReadRules([]byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest()
	}
	same := digest("- {key: a, gpu: true, network: [roce, infiniband], architecture: [x86_64], prefer: [ucx WITH gpu]}\n- {key: b, gpu: false}")
	if other := digest("- {key: b, gpu: false}\n- {key: a, gpu: true, network: [infiniband, roce, roce], architecture: [linux-64], prefer: [UCX with GPU]}"); other != same {
		t.Error("the same rules in another order have another digest")
	}
	for _, other := range []string{"", "- {key: a, gpu: true, network: [roce], architecture: [x86_64], prefer: [UCX with GPU]}\n- {key: b, gpu: false}"} {
		if digest(other) == same {
			t.Errorf("%q has the same digest", other)
		}
	}
	if (selection.Rules{}).Digest() != digest("") {
		t.Error("no rules are not the default table")
	}
	if digest("- {key: gpu-infiniband, gpu: true, network: [infiniband], prefer: [UCX with GPU, with GPU]}") == digest("") {
		t.Error("a site's row is one of the site, even if it says what the default one says")
	}
}

// What a pin names by digest can be kept and read back.
func TestRulesCanBeKept(t *testing.T) {
	r := site(t, selection.Rule{Key: "gpu-infiniband", Prefer: []string{"MPI", "environment x"}}, selection.Rule{Key: "s", GPU: new(true), Set: []selection.RuleSetting{{Name: "B", Value: "1"}, {Name: "A", Value: "<&>"}}})
	data, err := r.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	back, err := selection.LoadRules(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Canonical()
	if err != nil || string(again) != string(data) || back.Digest() != r.Digest() {
		t.Errorf("%v: read back they are\n%s\nnot\n%s", err, again, data)
	}
	for _, bad := range []string{"", "{}", `{"version":1,"site":[null]}`, `{"version":9}`, `{"version":1,"site":[{"key":"a","prefer":["gex"]}]}`} {
		if _, err := selection.LoadRules([]byte(bad)); !errors.Is(err, selection.ErrRules) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The default table has a row for every sort of node.
func TestDefaultTableIsWhole(t *testing.T) {
	var keys []string
	for _, r := range (selection.Rules{}).Table() {
		keys = append(keys, r.Key)
	}
	for _, n := range []string{"infiniband", "roce", "efa", "slingshot-10", "slingshot-11", "omni-path", "ethernet"} {
		if !slices.Contains(keys, "gpu-"+n) {
			t.Errorf("no row for nodes with a GPU and %s", n)
		}
	}
	// Read as stacks: no name of an environment stands in it.
	for _, r := range selection.DefaultRules() {
		for _, p := range r.Prefer {
			if strings.HasPrefix(p, "environment") {
				t.Errorf("row %s prefers %s", r.Key, p)
			}
		}
	}
}

// A change of what Table returns does not reach the rules.
func TestTableIsACopy(t *testing.T) {
	r := site(t, selection.Rule{Key: "a", GPU: new(true), Prefer: []string{"UCX"}})
	before := r.Digest()
	rows := r.Table()
	*rows[0].GPU = false
	rows[0].Prefer[0] = "MPI"
	data, err := r.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	back, err := selection.LoadRules(data)
	if err != nil || back.Digest() != before {
		t.Errorf("the rules changed with their copy: %v", err)
	}
}
