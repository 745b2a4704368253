package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/smoke"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// TestSmokeCode: a module that fails counts more than a node that was not to be had,
// that more than success, and nothing that fits is its own outcome.
func TestSmokeCode(t *testing.T) {
	for _, c := range []struct {
		states []string
		want   int
	}{
		{[]string{smokeOK, smokeOK}, api.ExitDone},
		{[]string{smokeOK, smokeNoFit}, api.ExitDone},
		{[]string{smokeNoFit, smokeNoFit}, api.ExitNoFit},
		{[]string{smokeOK, smokeLate, smokeNoFit}, api.ExitLate},
		{[]string{smokeOK, smokeLate, smokeFailed}, api.ExitFailed},
		{[]string{smokeBroken, smokeOK}, api.ExitFailed},
	} {
		var kinds []*smoked
		for _, s := range c.states {
			kinds = append(kinds, &smoked{State: s})
		}
		if got := smokeCode(kinds); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.states, got, c.want)
		}
	}
}

// TestSmokeText: a module for hardware that a node does not have is no failure and not
// counted as one that works; where there was nothing to try, nothing "works".
func TestSmokeText(t *testing.T) {
	text := func(k ...*smoked) string {
		var out bytes.Buffer
		if err := (&app{stdout: &out}).smokeText(k, smokeFlags{all: true}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	cuda := smoke.Result{Module: smoke.Module{Name: "lib/ucx/libuct_cuda.so.0", How: smoke.Open}, OK: true, Elsewhere: true, Error: "libcuda.so.1: cannot open"}
	ib := smoke.Result{Module: smoke.Module{Name: "lib/ucx/libuct_ib.so.0", How: smoke.Open}, OK: true}
	got := text(&smoked{Nodes: "n3", Node: "n3", State: smokeOK, Environment: "default", Modules: 2, Results: []smoke.Result{cuda, ib}})
	for _, want := range []string{"n3     n3        default      0         1       0       ok", "libuct_cuda.so.0  not here", "libuct_ib.so.0    ok", "every module works on 1 kind of node"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := text(&smoked{Nodes: "n3", Node: "n3", State: smokeOK}); !strings.Contains(got, "nothing was tried on 1 kind of node") || strings.Contains(got, "works") {
		t.Error(got)
	}
}

func TestServes(t *testing.T) {
	for state, want := range map[string]bool{
		"IDLE": true, "MIXED": true, "ALLOCATED": true, "IDLE+PLANNED": true,
		"IDLE+CLOUD+POWERED_DOWN": true, // Slurm wakes it
		"IDLE+DRAIN":              false, "DOWN*": false, "IDLE*": false, "DOWN": false, "MIXED+MAINTENANCE": false,
	} {
		if got := serves(state); got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}

// TestPartitionFor: the default partition if it has such nodes, else one that everybody
// may use, else one that is up at all.
func TestPartitionFor(t *testing.T) {
	nodes := []queries.Node{{Name: "n1", Partitions: []string{"closed", "open", "off", "root"}}}
	all := []queries.Partition{
		{Name: "main", Default: true, State: "UP"}, {Name: "off", State: "DOWN"}, {Name: "root", State: "UP", RootOnly: true},
		{Name: "closed", State: "UP", AllowGroups: []string{"staff"}}, {Name: "open", State: "UP"},
	}
	in := func(p ...queries.Partition) *planning.Cluster {
		return &planning.Cluster{Snapshot: &snapshot.Snapshot{Partitions: p}}
	}
	if got := partitionFor(in(all...), nodes); got != "open" {
		t.Errorf("%q", got)
	}
	if got := partitionFor(in(all[:4]...), nodes); got != "closed" {
		t.Errorf("%q", got)
	}
	if got := partitionFor(in(all[:3]...), nodes); got != "" {
		t.Errorf("%q", got)
	}
	nodes[0].Partitions = append(nodes[0].Partitions, "main")
	if got := partitionFor(in(all...), nodes); got != "main" {
		t.Errorf("%q", got)
	}
}

// TestWrapped: nothing is lost, and no line is wider than asked but for a long word.
func TestWrapped(t *testing.T) {
	const text = "ein  Satz mit größeren Wörtern und einem_sehr_langen_Wort_das_nirgends_passt am Ende"
	for width := 1; width < 90; width++ {
		lines := wrapped(text, width)
		if got, want := strings.Join(lines, " "), strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("width %d: %q", width, got)
		}
		for _, l := range lines {
			if len([]rune(l)) > width && strings.Contains(l, " ") {
				t.Errorf("width %d: %q", width, l)
			}
		}
	}
	if got := wrapped("", 10); len(got) != 1 || got[0] != "" {
		t.Errorf("of nothing: %q", got)
	}
}
