package service

import (
	"context"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
)

// Catalog answers from an index what would cost many reads of the store. It is told what
// is published.
type Catalog interface {
	// List returns the environments that members of groups may see, the newest first;
	// ready is false if it cannot tell yet.
	List(ctx context.Context, groups []int) (envs []api.Environment, ready bool, err error)
	// Published takes in environments that are there now, in a part of the store.
	Published(ctx context.Context, part *cache.Store, envs []api.Environment) error
}

// UseCatalog sets the catalog; before the Service is used.
func (s *Service) UseCatalog(c Catalog) { s.catalog = c }

// UseTrash sets what brings environments back that were removed a while ago, so that a
// prepare that needs one makes nothing; before the Service is used.
func (s *Service) UseTrash(restore func(store *cache.Store, id, platform string) (bool, error)) {
	s.deps.Recover = restore
}

// noted tells the catalog of what a request ended with.
func (s *Service) noted(ctx context.Context, part *cache.Store, result *api.PrepareResult) error {
	if s.catalog == nil || result.DryRun != nil {
		return nil
	}
	return s.catalog.Published(ctx, part, result.Environments)
}

// ListFor is List for a member of these groups: of what lies with a group, only
// theirs is there.
func (s *Service) ListFor(ctx context.Context, groups []int) ([]api.Environment, error) {
	if s.catalog != nil {
		if envs, ready, err := s.catalog.List(ctx, groups); ready || err != nil {
			return envs, err
		}
	}
	parts, err := s.parts(&groups)
	if err != nil {
		return nil, err
	}
	return list(ctx, parts)
}
