package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
)

// youngPackage is how long a package stays that no environment has: a prepare that was
// interrupted goes on with it.
const youngPackage = 24 * time.Hour

// SweepPools removes from the pools of the store and of its parts the packages that no
// environment has any more, and the files that only they had. Archives stay: what goes
// can be had of them again. It waits for moments without prepares for as long as patience
// each.
func (c *Collector) SweepPools(ctx context.Context, patience time.Duration) (cache.Swept, error) {
	var sum cache.Swept
	if c.opts.Alone == nil {
		return sum, nil
	}
	at, err := c.opts.Index.Reconciled(ctx)
	if err != nil {
		return sum, err
	}
	if at.IsZero() {
		return sum, fmt.Errorf("%w: the index was not compared with the store yet", ErrNotNow)
	}
	stores, err := c.stores()
	if err != nil {
		return sum, err
	}
	for _, s := range stores {
		var failed error
		n, err := s.Sweep(ctx, cache.SweepOptions{
			Young: c.opts.Now().Add(-youngPackage), TableContents: bytecode.TableContents,
			Exclusive: func(ctx context.Context, do func() error) error { return c.opts.Alone(ctx, patience, do) },
			// Asked while nobody prepares: what was published until now is in it.
			Keep: c.keeps(ctx, groupOf(s), &failed),
		})
		sum.Packages, sum.Files, sum.Bytes = sum.Packages+n.Packages, sum.Files+n.Files, sum.Bytes+n.Bytes
		if err = errors.Join(failed, err); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// keeps tells of a package whether an environment of a part has it. The index is asked
// once, at the first question; where it does not answer, everything is kept, and failed
// is set.
func (c *Collector) keeps(ctx context.Context, group int, failed *error) func(string) bool {
	var packages map[string]bool
	asked := false
	return func(sha256 string) bool {
		if !asked {
			asked = true
			var err error
			if packages, err = c.opts.Index.PackagesIn(ctx, group); err != nil {
				*failed, packages = err, nil
			}
		}
		return packages == nil || packages[sha256]
	}
}
