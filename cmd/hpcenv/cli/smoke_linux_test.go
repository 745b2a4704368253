package cli

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
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
