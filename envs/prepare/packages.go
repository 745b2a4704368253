package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// shelf holds the packages of one run by sha256.
type shelf struct {
	locked    map[string]*lockfile.CondaPackage
	manifests map[string]*cache.Manifest
}

// missing returns the packages that are not in the store, the largest first:
// what takes longest must not start last.
func (r *run) missing(s *shelf) ([]*lockfile.CondaPackage, error) {
	var missing []*lockfile.CondaPackage
	for sha, p := range s.locked {
		if s.manifests[sha] != nil {
			continue
		}
		m, err := r.deps.Store.Manifest(sha)
		switch {
		case errors.Is(err, cache.ErrNotFound):
			missing = append(missing, p)
		case err != nil:
			return nil, fmt.Errorf("package %s: %w", p.Dist(), err)
		default:
			s.manifests[sha] = m
		}
	}
	slices.SortFunc(missing, func(a, b *lockfile.CondaPackage) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.SHA256, b.SHA256))
	})
	return missing, nil
}

// obtain brings all missing packages into the store. Packages that another run
// of this process works on are waited for; if that run fails, they are tried
// here.
func (r *run) obtain(ctx context.Context, s *shelf, missing []*lockfile.CondaPackage) error {
	waited := false
	for len(missing) > 0 {
		ids := make([]string, 0, len(missing))
		for _, p := range missing {
			ids = append(ids, p.SHA256)
		}
		mine, theirs := r.deps.Flights.claim(ids)
		if len(theirs) > 0 && !waited {
			waited = true
			r.progress.send(Event{Type: EventWait, Text: fmt.Sprintf("waiting for %d packages that another request fetches", len(theirs))})
		}
		if err := r.takeIn(ctx, s, mine); err != nil {
			return err
		}
		all, err := wait(ctx, theirs)
		if err != nil {
			return err
		}
		if missing, err = r.missing(s); err != nil {
			return err
		}
		if all && len(missing) > 0 {
			return fmt.Errorf("%w: %s was published and is not there; is the store mounted twice with stale caches?", cache.ErrStore, missing[0].Dist())
		}
	}
	return nil
}

// takeIn fetches and stages the packages that this run claimed, publishes them
// with one sync, and ends the claims. After a failure, what was staged by then
// is published nevertheless: the next try need not do it again.
func (r *run) takeIn(ctx context.Context, s *shelf, claimed []string) (err error) {
	if len(claimed) == 0 {
		return nil
	}
	published := map[string]bool{}
	defer func() {
		for _, id := range claimed {
			r.deps.Flights.finish([]string{id}, published[id])
		}
	}()
	batch := r.deps.Store.NewBatch()
	var mu sync.Mutex // of batch and staged
	var staged []*cache.Staged
	g, gctx := errgroup.WithContext(ctx)
	parallel := r.deps.Parallel
	if parallel <= 0 {
		parallel = 8
	}
	g.SetLimit(parallel)
	for _, id := range claimed {
		p := s.locked[id]
		g.Go(func() error {
			if gctx.Err() != nil {
				return context.Cause(gctx)
			}
			st, err := r.stage(gctx, p)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			batch.Add(st)
			staged = append(staged, st)
			return nil
		})
	}
	err = g.Wait()
	if cerr := batch.Commit(context.WithoutCancel(ctx)); cerr != nil {
		return errors.Join(err, cerr, batch.Discard())
	}
	for _, st := range staged {
		s.manifests[st.Manifest.SHA256] = st.Manifest
		published[st.Manifest.SHA256] = true
	}
	return err
}

// stage fetches one package and unpacks it.
func (r *run) stage(ctx context.Context, p *lockfile.CondaPackage) (*cache.Staged, error) {
	src, err := Source(p)
	if err != nil {
		return nil, err
	}
	if p.Local && r.deps.OpenLocal {
		if src.URL, err = localURL(p.URL, r.req.Dir); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Dist(), err)
		}
	}
	path, _, err := r.deps.Store.Fetch(ctx, r.deps.Fetcher, src, func(done, total int64) {
		r.progress.fetching(src.Name, done, total)
	})
	if err != nil {
		return nil, err
	}
	st, err := r.deps.Store.Stage(ctx, path, src, conda.Interpret)
	if err != nil {
		return nil, err
	}
	r.progress.fetched(src.Name, st.Manifest.Size)
	return st, nil
}
