package server

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// LeaseBackend keeps what jobs and names need from being collected.
type LeaseBackend interface {
	// Take takes in what a submission of a user's hands over.
	Take(ctx context.Context, h *api.Handover, uid int, at time.Time) error
	// List returns leases, of one user unless uid is nil, with those that ended since a
	// time unless that is zero.
	List(ctx context.Context, uid *int, endedSince time.Time) ([]api.Lease, error)
	// Owner is the user whose lease a token is.
	Owner(token string) (int, error)
	// Release ends a lease; by says who did, for the record.
	Release(token, by string) error
	// Job tells what a job was submitted with, JobOwner whose it is.
	Job(ctx context.Context, job int) (*api.Job, error)
	JobOwner(ctx context.Context, job int) (int, error)
	// PutName gives a name, DeleteName takes it away.
	PutName(ctx context.Context, name string, n *api.PutName, by string) error
	DeleteName(name string) error
}

// showEnded is how far back leases are listed that ended.
const showEnded = 30 * 24 * time.Hour

// leaseRoutes are about what may not be collected.
func (s *Server) leaseRoutes() []Route {
	here := func(answer func(*Request) (any, error)) func(*Request) (any, error) {
		return func(r *Request) (any, error) {
			if s.backends.Leases == nil {
				return nil, errNotHere
			}
			return answer(r)
		}
	}
	owner := func(of func(*Request) (int, error)) func(*Request) (int, error) {
		return func(r *Request) (int, error) {
			if s.backends.Leases == nil {
				return 0, errNotHere
			}
			return of(r)
		}
	}
	return []Route{
		{Method: "POST", Pattern: "/v1/leases", For: User, What: "hand over what a job needs", Body: api.MaxHandover, Answer: here(func(r *Request) (any, error) {
			h := new(api.Handover)
			if err := r.Decode(h); err != nil {
				return nil, err
			}
			return nil, s.backends.Leases.Take(r.Context(), h, r.Caller.UID, time.Now())
		})},
		{Method: "GET", Pattern: "/v1/leases", For: User, What: "see leases", Answer: here(func(r *Request) (any, error) {
			uid, since := &r.Caller.UID, time.Time{}
			if r.URL.Query().Get("everybody") != "" {
				if !r.Caller.Is(Support | Administrator) {
					return nil, &ForbiddenError{Caller: r.Caller, What: "see the leases of all users", For: Support}
				}
				uid = nil
			}
			if r.URL.Query().Get("ended") != "" {
				since = time.Now().Add(-showEnded)
			}
			return s.backends.Leases.List(r.Context(), uid, since)
		})},
		{Method: "DELETE", Pattern: "/v1/leases/{token}", For: Owner, What: "release another user's lease",
			Owner: owner(func(r *Request) (int, error) { return s.backends.Leases.Owner(r.PathValue("token")) }),
			Answer: here(func(r *Request) (any, error) {
				return struct{}{}, s.backends.Leases.Release(r.PathValue("token"), fmt.Sprintf("uid %d", r.Caller.UID))
			})},
		{Method: "GET", Pattern: "/v1/jobs/{id}", For: Owner | Support, What: "see what another user's job had",
			Owner: owner(func(r *Request) (int, error) {
				id, err := jobNumber(r)
				if err != nil {
					return 0, err
				}
				return s.backends.Leases.JobOwner(r.Context(), id)
			}),
			Answer: here(func(r *Request) (any, error) {
				id, err := jobNumber(r)
				if err != nil {
					return nil, err
				}
				return s.backends.Leases.Job(r.Context(), id)
			})},
		{Method: "PUT", Pattern: "/v1/names/{name...}", For: Administrator, What: "give names to environments", Body: 1 << 20, Answer: here(func(r *Request) (any, error) {
			n := new(api.PutName)
			if err := r.Decode(n); err != nil {
				return nil, err
			}
			return struct{}{}, s.backends.Leases.PutName(r.Context(), r.PathValue("name"), n, fmt.Sprintf("uid %d", r.Caller.UID))
		})},
		{Method: "DELETE", Pattern: "/v1/names/{name...}", For: Administrator, What: "take names away", Answer: here(func(r *Request) (any, error) {
			return struct{}{}, s.backends.Leases.DeleteName(r.PathValue("name"))
		})},
	}
}

// jobNumber is the job of a request.
func jobNumber(r *Request) (int, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id <= 0 {
		return 0, api.Errorf(api.ExitUsage, "%q is not a job's number\nnext: the number that sbatch printed; of an array the array's", r.PathValue("id"))
	}
	return id, nil
}
