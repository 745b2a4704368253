package pin_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/pin"
)

// TestSameHost: of nodes with equal identifiers those of the job count.
func TestSameHost(t *testing.T) {
	p := &pin.Pin{}
	if same, err := p.SameHostAs("n1", "not[a list"); err != nil || same != nil {
		t.Errorf("none is noted: %v, %v", same, err)
	}
	p.SetSameHost([]string{"n[1-4]", "g[1-2]"})
	for _, c := range []struct {
		node, job string
		want      []string
	}{
		{"n1", "n[1-2,9]", []string{"n2"}}, {"n3", "n[1-8]", []string{"n1", "n2", "n4"}}, {"n1", "n1,g[1-2]", nil},
		{"g2", "g[1-2]", []string{"g1"}}, {"n9", "n[1-9]", nil},
	} {
		if same, err := p.SameHostAs(c.node, c.job); err != nil || !slices.Equal(same, c.want) {
			t.Errorf("%s of %s: %v, %v", c.node, c.job, same, err)
		}
	}
	if _, err := p.SameHostAs("n1", "n[1-"); err == nil || errors.Is(err, pin.ErrPin) {
		t.Errorf("a job of n[1-: %v", err)
	}
	p.SameHost = []string{"n[2-1"}
	if _, err := p.SameHostAs("n1", "n1"); !errors.Is(err, pin.ErrPin) {
		t.Errorf("a pin of n[2-1: %v", err)
	}
	// A cluster of many does not make a pin that cannot travel.
	p.SameHost = nil
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("node[%d,%d]", i, i+2000))
	}
	p.SetSameHost(many)
	if n := len(p.SameHost); n == 0 || n > 100 || !slices.Equal(p.SameHost, many[:n]) {
		t.Errorf("%d are noted", n)
	}
}
