package service

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// siteBuilds has the site's builds made for environments that were prepared, for all of
// them at once: their jobs wait for nodes of different kinds. What failed is a note, and
// so is what is missing where nothing may be asked of the network or of Slurm (offline).
func (s *Service) siteBuilds(ctx context.Context, store *cache.Store, res *prepare.Result, offline bool, report func(api.Event)) ([]string, error) {
	if s.opts.SiteBuilds == nil || res.DryRun != nil {
		return nil, nil
	}
	var mu sync.Mutex
	var notes []string
	seen := map[string]bool{}
	work, ctx := errgroup.WithContext(ctx)
	for _, e := range res.Environments {
		if what := e.ID + "/" + e.Platform; e.Meta == nil || seen[what] {
			continue
		} else {
			seen[what] = true
		}
		work.Go(func() error {
			ensure := s.opts.SiteBuilds.Ensure
			if offline {
				ensure = func(_ context.Context, store *cache.Store, meta *materialize.Meta, _ func(string)) ([]string, error) {
					return s.opts.SiteBuilds.Missing(store, meta)
				}
			}
			said, err := ensure(ctx, store, e.Meta, func(text string) {
				mu.Lock()
				defer mu.Unlock()
				report(api.Event{Type: api.EventNote, Text: text})
			})
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, said...)
			return err
		})
	}
	err := work.Wait()
	return notes, err
}

// SiteBuilds tells what was built for the environments whose ids begin so, in all parts
// of the store that this process may read.
func (s *Service) SiteBuilds(ctx context.Context, id string) ([]api.EnvironmentBuilds, error) {
	parts, err := s.parts(nil)
	if err != nil {
		return nil, err
	}
	metas, err := published(ctx, parts, id)
	if err != nil {
		return nil, err
	}
	var out []api.EnvironmentBuilds
	for _, m := range metas {
		builds, err := buildsOf(m)
		if err != nil {
			return nil, err
		}
		if len(builds) > 0 {
			out = append(out, api.EnvironmentBuilds{ID: m.ID, Name: m.Environment, Platform: m.Platform, Builds: builds})
		}
	}
	return out, nil
}

func buildsOf(m described) ([]api.SiteBuild, error) {
	rec, err := sitebuild.Read(m.in.Root(), m.ID, m.Platform)
	if err != nil {
		return nil, fmt.Errorf("%w: what was built for environment %s: %w", cache.ErrStore, m.ID, err)
	}
	return rec.Builds, nil
}

// RetrySiteBuilds has builds of an environment made again that failed: that of a name, or
// with "" all. It returns how they ended.
func (s *Service) RetrySiteBuilds(ctx context.Context, id, name string) ([]api.EnvironmentBuilds, error) {
	if s.opts.SiteBuilds == nil || len(s.opts.SiteBuilds.Declared) == 0 {
		return nil, api.Errorf(api.ExitUsage, "this daemon has no site_builds in its configuration\nnext: declare them in hpcenvd.yaml and restart hpcenvd")
	}
	metas, err := one(ctx, []*cache.Store{s.opts.Store}, id)
	if err != nil {
		return nil, err
	}
	tried := 0
	for _, m := range metas {
		n, err := s.opts.SiteBuilds.Retry(ctx, m.in, m.ID, m.Platform, name)
		if err != nil {
			return nil, err
		}
		if tried += n; n == 0 {
			continue
		}
		if _, err := s.opts.SiteBuilds.Ensure(ctx, m.in, m.Meta, func(string) {}); err != nil {
			return nil, err
		}
	}
	if tried == 0 {
		return nil, api.Errorf(api.ExitUsage, "no build of environment %s has failed\nnext: hpcenv admin builds", metas[0].ID)
	}
	return s.SiteBuilds(ctx, metas[0].ID)
}
