package selection_test

import (
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Real locks on every sort of node: there is a plan that holds what it promises, or
// a refusal with its table.
func TestSelectionOfRealLocks(t *testing.T) {
	locks, planned, refusals := 0, 0, map[error]int{}
	realLocks(t, func(name string, _ []byte, lock *lockfile.Lock, p *project.Project) {
		envs, err := selection.OfLock(lock, p)
		if err != nil || len(envs) == 0 {
			return // tests of OfLock
		}
		locks++
		for _, groups := range [][]selection.Group{{gpuIB(t)}, {ghSlingshot(t)}, {cpuNodes(t)}, {v100(t)}, {gpuIB(t), armIB(t), cpuNodes(t)}} {
			for _, gpu := range []bool{false, true} {
				in := selection.Input{Environments: envs, Groups: groups, Wish: selection.Wish{MultiNode: true, GPU: gpu}}
				plan, err := selection.Select(in)
				if err != nil {
					var e *selection.Error
					if !errors.As(err, &e) || len(e.Table()) == 0 {
						t.Errorf("%s: %v", name, err)
						continue
					}
					refusals[e.Class]++
					continue
				}
				planned++
				pinned := wired(t, plan)
				for i := range plan.Rows {
					checkFit(t, &in, &plan.Rows[i], plan.Rows[i].Choice)
					compareDecision(t, pinned, &plan.Rows[i], loader(in))
					if plan.Rows[i].Because == "" {
						t.Errorf("%s: %s gets %s without a reason", name, plan.Rows[i].Nodes, plan.Rows[i].Choice)
					}
				}
			}
		}
	})
	t.Logf("%d locks: %d plans, refusals: %v", locks, planned, refusals)
	if planned == 0 || len(refusals) == 0 {
		t.Error("not every outcome was met")
	}
}
