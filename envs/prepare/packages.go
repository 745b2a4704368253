package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
)

// shelf holds the packages of one run by sha256.
type shelf struct {
	locked    map[string]locked
	manifests map[string]*cache.Manifest
}

// missing returns the packages that are not in the store, the largest first:
// what takes longest must not start last.
func (r *run) missing(s *shelf) ([]locked, error) {
	var missing []locked
	for sha, p := range s.locked {
		m, err := r.deps.Store.Manifest(sha)
		switch {
		case errors.Is(err, cache.ErrNotFound):
			missing = append(missing, p)
		case err != nil:
			return nil, fmt.Errorf("package %s: %w", p.dist(), err)
		default:
			s.manifests[sha] = m
		}
	}
	slices.SortFunc(missing, func(a, b locked) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.sha256(), b.sha256()))
	})
	return missing, nil
}

// obtain brings the missing packages into the store: each archive is fetched
// once however many requests want it, and one sync publishes them all.
func (r *run) obtain(ctx context.Context, s *shelf, missing []locked) (fetched int64, err error) {
	sources := make([]cache.Source, 0, len(missing))
	for _, p := range missing {
		src, err := p.source()
		if err != nil {
			return 0, err
		}
		if _, url, local := p.where(); local && r.deps.OpenLocal {
			if src.URL, err = localURL(url, r.req.Dir); err != nil {
				return 0, fmt.Errorf("package %s: %w", p.dist(), err)
			}
		}
		sources = append(sources, src)
	}
	parallel := r.deps.Parallel
	if parallel <= 0 {
		parallel = 8
	}
	manifests, err := r.deps.Store.EnsureAll(ctx, r.deps.Fetcher, sources, interpret, cache.EnsureOptions{
		Workers:  parallel,
		Progress: func(i int, done, total int64) { r.progress.fetching(sources[i].Name, done, total) },
		Done:     func(i int, _ bool) { r.progress.fetched(sources[i].Name, sources[i].Size) },
	})
	if err != nil {
		return 0, err
	}
	for i, m := range manifests {
		s.manifests[sources[i].SHA256] = m
		fetched += m.Size
	}
	return fetched, nil
}
