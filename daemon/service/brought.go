package service

import (
	"context"
	"errors"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// PrepareHeld is Prepare for a user's own store, of archives that the caller holds:
// nothing is fetched, and what the store lacks is taken from held.
func (s *Service) PrepareHeld(ctx context.Context, req *api.PrepareRequest, held api.Held, report func(api.Event)) (*api.PrepareResult, error) {
	brought := *req
	brought.Brought = true
	taken := map[string]bool{}
	tell := report
	for {
		result, err := s.Prepare(ctx, &brought, tell)
		var need *api.NeedError
		if !errors.As(err, &need) {
			return result, err
		}
		for _, n := range need.Archives {
			if taken[n.SHA256] {
				return nil, api.Errorf(api.ExitFailed, "%s was taken in and is not there: somebody else removes archives from the store\nnext: the same command again", n.Package)
			}
			taken[n.SHA256] = true
			if err := s.take(ctx, held, n); err != nil {
				return nil, err
			}
		}
		// The same request again has the same plan, which was told already.
		tell = func(e api.Event) {
			if report != nil && e.Type != api.EventPlan {
				report(e)
			}
		}
	}
}

func (s *Service) take(ctx context.Context, held api.Held, n api.Need) error {
	content, _, err := held.Open(n)
	if err != nil {
		return err
	}
	defer content.Close() // only read
	return s.PutArchive(ctx, n.SHA256, content)
}
