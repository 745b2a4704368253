package prepare

import (
	"context"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Want is what a run would make that is not there.
type Want struct {
	// Bytes that it takes at least: those of its archives.
	Bytes int64
	// Packages that the lock names for it.
	Packages []WantedPackage
}

// WantedPackage is a package with the URL at which the lock has it, without credentials;
// of one in a file it is file:///NAME.
type WantedPackage struct {
	Name, URL string
}

// allow asks for leave to make the targets that are not there in any form.
func (r *run) allow(ctx context.Context, targets []target, made []Environment) error {
	if r.deps.Allow == nil {
		return nil
	}
	var want Want
	listed := map[string]bool{}
	needed := false
	for i, t := range targets {
		if made[i].Meta != nil || made[i].derived != nil {
			continue
		}
		needed = true
		for _, p := range archives(t.platform) {
			want.Bytes += p.size()
			// The Python of a lock that names none is the site's own.
			if listed[p.sha256()] || r.python != nil && p.wheel == nil {
				continue
			}
			listed[p.sha256()] = true
			_, url, local := p.where()
			if local {
				url = "file:///" + p.dist() // wherever a user has it
			}
			want.Packages = append(want.Packages, WantedPackage{Name: p.dist(), URL: lockfile.RedactURL(url)})
		}
	}
	if !needed {
		return nil
	}
	return r.deps.Allow(ctx, want)
}
