package server

import (
	"context"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// GCBackend removes what nothing needs.
type GCBackend interface {
	// PlanGC says what a collection would do now; RunGC does it.
	PlanGC(ctx context.Context) (*api.GC, error)
	RunGC(ctx context.Context) (*api.GC, error)
}

// gcRoutes are about collection.
func (s *Server) gcRoutes() []Route {
	here := func(answer func(context.Context) (*api.GC, error)) func(*Request) (any, error) {
		return func(r *Request) (any, error) {
			if s.backends.GC == nil {
				return nil, errNotHere
			}
			return answer(r.Context())
		}
	}
	return []Route{
		{Method: "GET", Pattern: "/v1/gc", For: Support, What: "see what a collection would remove", Answer: here(func(ctx context.Context) (*api.GC, error) {
			return s.backends.GC.PlanGC(ctx)
		})},
		// It goes on if the client leaves.
		{Method: "POST", Pattern: "/v1/gc", For: Administrator, What: "have a collection run", Answer: here(func(ctx context.Context) (*api.GC, error) {
			return s.backends.GC.RunGC(context.WithoutCancel(ctx))
		})},
	}
}
