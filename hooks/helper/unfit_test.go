package helper

import (
	"testing"

	"github.com/hpcenv/hpcenv/hooks/selection"
)

func TestUnfit(t *testing.T) {
	row := func(nodes, problem string, rejected ...selection.Rejected) selection.Row {
		return selection.Row{Group: selection.Group{Nodes: nodes}, Problem: problem, Rejected: rejected}
	}
	old := selection.Rejected{Environment: "default", Reasons: []string{"has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9)"}}
	none := selection.Rejected{Environment: "default", Reasons: []string{"has no GPU driver"}}
	cpu := selection.Rejected{Environment: "cpu", Fits: true}
	for name, c := range map[string]struct {
		wish            string
		rows            []selection.Row
		sentence, nodes string
	}{
		"all fit": {"", []selection.Row{row("n[1-3]", "")}, "", ""},
		"named, and another fits": {"default", []selection.Row{row("n3", "nothing fits", cpu, none), row("n1", "nothing fits", cpu, old), row("n2", "")},
			"default does not fit n3 (has no GPU driver), n1 (has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9))", "n[1,3]"},
		"named, one reason": {"default", []selection.Row{row("n3", "nothing fits", none), row("n[1-2]", "nothing fits", none)}, "default does not fit n[1-3] (has no GPU driver)", "n[1-3]"},
		"not named":         {"", []selection.Row{row("n3", "nothing fits", none), row("n1", "nothing fits", old)}, "nothing of the lock fits n[1,3]", "n[1,3]"},
	} {
		sentence, nodes := unfit(&selection.Plan{Wish: selection.Wish{Environment: c.wish}, Rows: c.rows})
		if sentence != c.sentence || nodes != c.nodes {
			t.Errorf("%s: %q, %q\nwant %q, %q", name, sentence, nodes, c.sentence, c.nodes)
		}
	}
}
