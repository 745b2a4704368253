package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

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
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(max(4, runtime.GOMAXPROCS(0))) // shared storage answers slowly and in parallel
	for sha, p := range s.locked {
		group.Go(func() error {
			m, err := r.deps.Store.Manifest(sha)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, cache.ErrNotFound):
				missing = append(missing, p)
			case err != nil:
				return fmt.Errorf("package %s: %w", p.dist(), err)
			default:
				s.manifests[sha] = m
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(missing, func(a, b locked) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.sha256(), b.sha256()))
	})
	return missing, nil
}

// source is where a package is fetched from.
func (r *run) source(p locked) (cache.Source, error) {
	src, err := p.source()
	_, url, local := p.where()
	if err != nil || !local || !r.deps.OpenLocal {
		return src, err
	}
	if src.URL, err = localURL(url, r.req.Dir); err != nil {
		return src, fmt.Errorf("package %s: %w", p.dist(), err)
	}
	return src, nil
}

// obtain brings the missing packages into the store: each archive is fetched
// once however many requests want it, and one sync publishes them all.
func (r *run) obtain(ctx context.Context, s *shelf, missing []locked) (fetched int64, err error) {
	sources := make([]cache.Source, 0, len(missing))
	for _, p := range missing {
		src, err := r.source(p)
		if err != nil {
			return 0, err
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
		return 0, r.ofPython(err, missing)
	}
	for i, m := range manifests {
		s.manifests[sources[i].SHA256] = m
		fetched += m.Size
	}
	return fetched, nil
}

// PythonError is about a package of the Python that a site lists for locks that name
// none: not the lock is to blame for its URL and its sha256.
type PythonError struct{ Err error }

func (e *PythonError) Error() string {
	return "of a Python that `interpreters:` lists, " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *PythonError) Unwrap() error { return e.Err }

// ofPython is the error about one of the missing packages; a PythonError if that is
// none of the lock's.
func (r *run) ofPython(err error, missing []locked) error {
	var of *cache.PackageError
	if r.python == nil || !errors.As(err, &of) {
		return err
	}
	for _, p := range missing {
		if p.sha256() == of.SHA256 && p.wheel == nil {
			return &PythonError{err}
		}
	}
	return err
}
