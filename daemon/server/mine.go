package server

import (
	"context"
	"log/slog"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
)

// MineBackend knows what users asked for that is there.
type MineBackend interface {
	// Want notes that a user with a primary group asked for environments.
	Want(ctx context.Context, uid, gid int, envs []api.Environment) error
	Mine(ctx context.Context, uid int) (*api.Mine, error)
	GiveUp(ctx context.Context, uid int, id string) (*api.Owned, error)
}

// mineRoutes are about the caller's own.
func (s *Server) mineRoutes() []Route {
	here := func(answer func(*Request) (any, error)) func(*Request) (any, error) {
		return func(r *Request) (any, error) {
			if s.backends.Mine == nil {
				return nil, errNotHere
			}
			return answer(r)
		}
	}
	return []Route{
		{Method: "GET", Pattern: "/v1/mine", For: User, What: "see what they asked for", Answer: here(func(r *Request) (any, error) {
			mine, err := s.backends.Mine.Mine(r.Context(), r.Caller.UID)
			if err == nil && s.backends.Budgets != nil {
				mine.Budgets, err = s.backends.Budgets.Of(r.Context(), budget.Who{UID: r.Caller.UID, GID: r.Caller.GID})
			}
			return mine, err
		})},
		// Of the caller's own only: nobody else's count is touched.
		{Method: "DELETE", Pattern: "/v1/mine/{id}", For: User, What: "give up what they asked for", Answer: here(func(r *Request) (any, error) {
			return s.backends.Mine.GiveUp(r.Context(), r.Caller.UID, r.PathValue("id"))
		})},
	}
}

// want notes what a finished request's user has now.
func (s *Server) want(who *Caller, envs []api.Environment, log *slog.Logger) {
	if s.backends.Mine == nil {
		return
	}
	if err := s.backends.Mine.Want(context.Background(), who.UID, who.GID, envs); err != nil {
		log.Warn("what a user asked for was not kept; it does not count for their budget", "err", err)
	}
}
