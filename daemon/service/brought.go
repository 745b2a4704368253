package service

import (
	"context"
	"io"
	"os"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// PrepareHeld is Prepare with archives that the caller has: nothing is fetched, and
// what the store lacks is taken from held.
func (s *Service) PrepareHeld(ctx context.Context, req *api.PrepareRequest, held api.Held, report func(api.Event)) (*api.PrepareResult, error) {
	return api.PrepareHeld(ctx, req, held, report, func(req *api.PrepareRequest, report func(api.Event)) (*api.PrepareResult, error) {
		return s.Prepare(ctx, req, report)
	}, func(n api.Need, content io.Reader, _ int64) error {
		return s.PutArchive(ctx, os.Getgid(), n.SHA256, content)
	})
}
