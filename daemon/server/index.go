package server

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// IndexBackend keeps what is costly to ask of the store, and who asked for what.
type IndexBackend interface {
	// Asked notes a request.
	Asked(ctx context.Context, r api.Asked) error
	// Requests returns the latest, of one user unless uid is nil.
	Requests(ctx context.Context, uid *int, lock string, limit int) ([]api.Asked, error)
	// RebuildIndex reads the index from the store again, CheckIndex looks through it.
	RebuildIndex(ctx context.Context) (*api.IndexChanges, error)
	CheckIndex(ctx context.Context) (*api.IndexStatus, error)
	// Where returns the environments that have a package, of those that members of
	// groups may see; nil = all.
	Where(ctx context.Context, groups []int, name, version string) ([]api.Containing, error)
}

// indexRoutes are answered from the index.
func (s *Server) indexRoutes() []Route {
	here := func(answer func(*Request) (any, error)) func(*Request) (any, error) {
		return func(r *Request) (any, error) {
			if s.backends.Index == nil {
				return nil, errNotHere
			}
			return answer(r)
		}
	}
	return []Route{
		{Method: "POST", Pattern: "/v1/index/rebuild", For: Administrator, What: "have the index read from the store again", Answer: here(func(r *Request) (any, error) {
			// It goes on if the client leaves.
			return s.backends.Index.RebuildIndex(context.WithoutCancel(r.Context()))
		})},
		{Method: "GET", Pattern: "/v1/index", For: Support, What: "look through the index", Answer: here(func(r *Request) (any, error) {
			return s.backends.Index.CheckIndex(r.Context())
		})},
		{Method: "GET", Pattern: "/v1/requests", For: Support, What: "see who asked for what", Answer: here(func(r *Request) (any, error) {
			q := r.URL.Query()
			var uid *int
			if text := q.Get("uid"); text != "" {
				n, err := strconv.Atoi(text)
				if err != nil || n < 0 {
					return nil, api.Errorf(api.ExitUsage, "uid %q is not a user's number", text)
				}
				uid = &n
			}
			limit, err := strconv.Atoi("0" + q.Get("limit"))
			if err != nil || limit > maxRequests {
				return nil, api.Errorf(api.ExitUsage, "limit %q is not a number up to %d", q.Get("limit"), maxRequests)
			}
			return s.backends.Index.Requests(r.Context(), uid, q.Get("lock"), limit)
		})},
		{Method: "GET", Pattern: "/v1/where/{name}", For: Support, What: "find a package in all environments", Answer: here(func(r *Request) (any, error) {
			return s.backends.Index.Where(r.Context(), nil, r.PathValue("name"), r.URL.Query().Get("version"))
		})},
	}
}

// maxRequests is how many requests one answer tells of at most.
const maxRequests = 100_000

// maxOutcome bounds what is kept of an error.
const maxOutcome = 500

// noteEnd is note, once the work has ended, whose client has left.
func (s *Server) noteEnd(who *Caller, req *api.PrepareRequest, j *job, asked time.Time, log *slog.Logger) {
	if err := j.follow(context.Background(), func([]api.Event) error { return nil }); err == nil {
		s.note(who, req, j, asked, log)
	}
}

// note keeps who asked for what, and what came of it. That archives must be brought is no
// end: the client asks again.
func (s *Server) note(who *Caller, req *api.PrepareRequest, j *job, asked time.Time, log *slog.Logger) {
	var need *api.NeedError
	if req.DryRun || errors.As(j.err, &need) {
		return
	}
	if j.err == nil {
		s.want(who, j.result.Environments, log)
	}
	if s.backends.Index == nil {
		return
	}
	a := api.Asked{
		At: asked.UTC().Format(time.RFC3339), UID: who.UID, GID: who.GID, Lock: digest(req.Lock), Environments: req.Environments,
		Seconds: time.Since(asked).Seconds(), Outcome: "done",
	}
	if j.err != nil {
		a.Outcome, _, _ = strings.Cut(s.opts.Classify(j.err).Message, "\n")
		a.Outcome = a.Outcome[:min(len(a.Outcome), maxOutcome)]
	} else {
		a.PackagesNew, a.Bytes = j.result.PackagesNew, j.result.BytesFetched
	}
	if err := s.backends.Index.Asked(context.Background(), a); err != nil {
		log.Warn("who asked was not kept", "err", err)
	}
}
