package wrapper

import (
	"context"
	"fmt"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// site are the variables of what the site built for the environment and this node; what
// is not there is said.
func (r *resolved) site(ctx context.Context, o Options) []activation.Op {
	if r.built == nil {
		return nil
	}
	c := r.built.Choose(func() []string {
		f, _ := facts.Load(ctx, facts.RecordPath) // without a record they are read now
		return f.ActiveNetworks()
	})
	for _, e := range c.Lacking {
		fmt.Fprintln(o.Stderr, "hpcenv: note:", sitebuild.Problem(e, r.store, o.Platform))
	}
	return c.Ops(r.meta.Prefix)
}
