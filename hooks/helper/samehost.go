package helper

import (
	"fmt"

	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// noteSameHost leaves in the pin which of the nodes that the job may get have equal host
// identifiers, if there are any.
func (c *chosen) noteSameHost(p *pin.Pin) error {
	if len(c.cluster.Snapshot.SameHost) == 0 || !c.where.MultiNode {
		return nil
	}
	possible := map[string]bool{}
	for i := range c.plan.Rows {
		names, err := hostlist.Expand(c.plan.Rows[i].Nodes)
		if err != nil {
			return fmt.Errorf("nodes of the plan: %w", err)
		}
		for _, n := range names {
			possible[n] = true
		}
	}
	lists, err := c.cluster.Snapshot.SameAmong(func(n string) bool { return possible[n] })
	p.SetSameHost(lists)
	return err
}
