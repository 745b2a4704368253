package arch

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// TestNetworksHaveOneName: the room envs may not import hooks, so that both write
// the names of networks; they are compared when an environment is chosen.
func TestNetworksHaveOneName(t *testing.T) {
	for _, pair := range [][2]string{
		{stack.InfiniBand, facts.InfiniBand}, {stack.RoCE, facts.RoCE}, {stack.EFA, facts.EFA}, {stack.Slingshot10, facts.Slingshot10},
		{stack.Slingshot11, facts.Slingshot11}, {stack.OmniPath, facts.OmniPath},
	} {
		if pair[0] != pair[1] {
			t.Errorf("envs/stack says %q, hooks/facts %q", pair[0], pair[1])
		}
	}
}
