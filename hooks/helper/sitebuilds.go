package helper

import (
	"context"
	"path/filepath"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// siteBuilds are the variables of what the site built for the environment and this
// node, and what is to be said of builds that are not there. An overlay that is published
// and not at its place on this node is a refusal. record is where the node's facts lie.
func siteBuilds(ctx context.Context, p *pin.Pin, files prepared.Store, prefix, record string) (ops []activation.Op, warnings []string, err error) {
	rec, err := files.SiteBuilds(p.ID, hostPlatform())
	if err != nil {
		return nil, nil, refuse(api.ExitUnreachable, "%w; next: tell the administrator", err)
	}
	c := rec.Choose(func() []string {
		f, _ := facts.Load(ctx, record) // without a record they are read now
		return f.ActiveNetworks()
	})
	for _, e := range c.Use {
		at := filepath.Join(filepath.Dir(prefix), e.Overlay)
		if err := files.Sees(at); err != nil {
			return nil, nil, refuse(api.ExitUnreachable, "what the site built for environment %s (%s) is in the store, but not at %s on this node: %w; next: the administrator checks mount= in plugstack.conf and the mount at %s",
				p.Environment, e.Name, at, err, filepath.Dir(prefix))
		}
	}
	for _, e := range c.Lacking {
		warnings = append(warnings, sitebuild.Problem(e, files.Root, hostPlatform())+"; next: "+sitebuild.Next(e, p.ID))
	}
	return c.Ops(prefix), warnings, nil
}
