package collect

import (
	"context"
	"errors"
	"time"

	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// PlanGC says what a collection would do now, in the API's form.
func (c *Collector) PlanGC(ctx context.Context) (*api.GC, error) {
	plan, err := c.Plan(ctx)
	if err != nil {
		return nil, told(err)
	}
	return plan.api(), nil
}

// sweepMoment is how long an administrator's collection waits for a moment without
// prepares.
const sweepMoment = 2 * time.Second

// RunGC collects, and sweeps the pool.
func (c *Collector) RunGC(ctx context.Context) (*api.GC, error) {
	plan, err := c.Plan(ctx)
	if err != nil {
		return nil, told(err)
	}
	r, err := c.Run(ctx, plan)
	if err != nil {
		return nil, told(err)
	}
	// Prepares go on: what of the pool cannot be looked at now is by the schedule.
	swept, err := c.SweepPools(ctx, sweepMoment)
	if err != nil && !errors.Is(err, service.ErrBusy) {
		return nil, told(err)
	}
	out := plan.api()
	out.SweptPackages, out.SweptFiles, out.SweptBytes = swept.Packages, swept.Files, swept.Bytes
	out.Done, out.Purged, out.Remove = true, r.Purged, []api.GCItem{}
	out.BytesLeft, out.InodesLeft = plan.Bytes-r.Bytes, plan.Inodes-r.Inodes
	for _, i := range r.Removed {
		out.Remove = append(out.Remove, item(i.Key, i.Name, i.Bytes, i.Inodes, i.LastUse, i.Why))
	}
	for _, k := range r.Spared {
		out.Spared = append(out.Spared, item(k.Key, k.Name, k.Bytes, k.Inodes, k.LastUse, k.Why))
	}
	return out, nil
}

// told gives an error of class ErrNotNow its exit code.
func told(err error) error {
	if errors.Is(err, ErrNotNow) {
		return api.Errorf(api.ExitLate, "%v", err)
	}
	return err
}

func (p *Plan) api() *api.GC {
	out := &api.GC{Remove: []api.GCItem{}, Keep: []api.GCItem{}, Bytes: p.Bytes, Inodes: p.Inodes, BytesLeft: p.BytesLeft, InodesLeft: p.InodesLeft, Over: p.Over}
	for _, i := range p.Items {
		out.Remove = append(out.Remove, item(i.Key, i.Name, i.Bytes, i.Inodes, i.LastUse, i.Why))
	}
	for _, k := range p.Kept {
		out.Keep = append(out.Keep, item(k.Key, k.Name, k.Bytes, k.Inodes, k.LastUse, k.Why))
	}
	return out
}

func item(k index.Key, name string, bytes, inodes int64, used time.Time, why string) api.GCItem {
	i := api.GCItem{ID: k.ID, Platform: k.Platform, Name: name, Bytes: bytes, Inodes: inodes, LastUse: used.Format(time.RFC3339), Why: why}
	if k.Group != index.Everybody {
		i.Group = &k.Group
	}
	return i
}
