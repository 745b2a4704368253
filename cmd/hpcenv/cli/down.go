package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// withoutDaemon ends a prepare whose daemon cannot be reached, which down says.
// If everything is there already that is no error, as it is none for sbatch;
// otherwise the error names what is not, where the store can tell. A wrong use of the
// command is no daemon's absence and stays what it is.
func (a *app) withoutDaemon(ctx context.Context, req *api.PrepareRequest, down error) error {
	if service.Classify(down).Code == api.ExitUsage {
		return down
	}
	c, err := a.conf()
	if err != nil || !c.HasDaemon() || c.Store == "" {
		return down
	}
	svc, err := service.OpenReadOnly(c.Store, false)
	if err != nil {
		return down // the daemon's absence is what counts
	}
	look := *req
	look.DryRun = true
	var plan []api.Event
	result, err := svc.Prepare(ctx, &look, func(e api.Event) { plan = append(plan, e) })
	if err != nil {
		if e := service.Classify(err); e.AboutLock || e.Code == api.ExitUsage || e.Code == api.ExitNoFit {
			return aboutLock(err, req.LockPath)
		}
		return down
	}
	var missing []string
	for _, e := range result.Environments {
		if e.New {
			missing = append(missing, fmt.Sprintf("%q for %s", e.Name, e.Platform))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: not prepared yet: %s; %w", req.LockPath, strings.Join(missing, ", "), down)
	}
	result.Notes = append(a.notes, result.Notes...)
	result.Notes = append(result.Notes, "hpcenvd does not answer; everything asked for was prepared before")
	if a.json {
		return a.printJSON(result)
	}
	shown := newProgress(a.stderr, header(req.Lock), showAll)
	for _, e := range plan {
		shown.report(e)
	}
	shown.close()
	return a.prepared(ctx, svc, req, result, false)
}
