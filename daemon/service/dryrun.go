package service

import (
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/prepare"
)

// dryRun is a dry run in the API's form.
func dryRun(d *prepare.DryRun) *api.DryRun {
	out := &api.DryRun{
		Fetch: []api.Fetch{}, Inodes: d.Inodes, Bytes: d.Bytes, Estimated: d.Estimated, Environments: []api.DryRunEnvironment{},
	}
	for _, f := range d.Fetch {
		out.Fetch = append(out.Fetch, api.Fetch{Package: f.Name, SHA256: f.SHA256, URL: f.URL, Size: f.Size})
		out.FetchBytes += f.Size
	}
	for _, e := range d.Environments {
		out.Environments = append(out.Environments, api.DryRunEnvironment{
			ID: e.ID, Name: e.Name, Platform: e.Platform, New: e.New, Delivery: string(e.Delivery), Inodes: e.Inodes, Bytes: e.Bytes,
			Estimated: e.Estimated, Conflicts: conflicts(e.Conflicts), SkippedScripts: e.SkippedScripts,
		})
	}
	return out
}
