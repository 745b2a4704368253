package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/budget"
)

// prepare starts or joins work and streams what it tells.
func (s *Server) prepare(w http.ResponseWriter, r *Request) error {
	who := r.Caller
	req := new(api.PrepareRequest)
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Data = nil
	req.UID, req.Group, req.Groups = who.UID, who.GID, who.Groups
	release := r.KeepShare()
	mine := true // until a job begins, which outlives this client
	defer func() {
		if mine {
			release()
		}
	}()
	log, asked := s.log.With("uid", who.UID, "lock", short(digest(req.Lock))), time.Now()
	k, work, of := key(req, s.backends.Work.OwnParts(req.Groups)), s.work(req, log), about{who.UID, digest(req.Lock), asked}
	j, joined := s.jobs.join(k, of, release, work)
	if j == nil {
		return errStopping
	}
	if mine = joined; joined {
		log.Info("prepare joins work that runs already")
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	enc, flush := json.NewEncoder(w), http.NewResponseController(w)
	// The work may say nothing for long; that it was taken is known at once.
	if err := flush.Flush(); err != nil {
		log.Info("client left; the work goes on", "err", err)
		return nil
	}
	// Whoever leaves has asked nevertheless; the answer is the work's own.
	tell := func(events []api.Event) error {
		for i := range events {
			if err := enc.Encode(api.Message{Event: &events[i]}); err != nil {
				return err
			}
		}
		return flush.Flush()
	}
	err := j.follow(r.Context(), tell)
	if err == nil && joined && errors.Is(j.err, budget.ErrBudget) {
		// That was the budget of who began it.
		log.Info("prepare is begun again, within its user's own budget")
		again, joined := s.jobs.join(fmt.Sprintf("%s %d", k, who.UID), of, release, work)
		if again == nil {
			again = &job{done: true, err: errStopping}
		}
		j, mine = again, joined
		err = j.follow(r.Context(), tell)
	}
	if err != nil {
		log.Info("client left; the work goes on", "err", err)
		s.jobs.group.Go(func() { s.noteEnd(who, req, j, asked, log) })
		return nil
	}
	last := api.Message{Result: j.result}
	var need *api.NeedError
	if errors.As(j.err, &need) {
		if last, err = s.need(need, who.GID); err != nil {
			last = api.Message{Error: s.opts.Classify(err)}
		}
	} else if j.err != nil {
		last = api.Message{Error: s.opts.Classify(j.err)}
	}
	s.count(j, joined, asked)
	s.note(who, req, j, asked, log)
	if err := enc.Encode(last); err != nil {
		log.Info("client left before the end", "err", err)
	}
	return nil
}

// errStopping: no work is begun any more.
var errStopping = api.Errorf(api.ExitUnreachable, "hpcenvd is stopping\nnext: the same command again when it is back")

// work is what a request has done, under the server's context.
func (s *Server) work(req *api.PrepareRequest, log *slog.Logger) func(context.Context, func(api.Event)) (*api.PrepareResult, error) {
	return func(ctx context.Context, report func(api.Event)) (result *api.PrepareResult, err error) {
		defer func() { // one lock's fault is not everybody's
			if cause := recover(); cause != nil {
				log.Error("prepare panicked", "cause", cause, "stack", string(debug.Stack()))
				err = api.Errorf(api.ExitFailed, "a fault of hpcenvd itself: %v\nnext: report it with the lock file; the daemon's log says where", cause)
			}
		}()
		ctx = fair.With(ctx, uint32(req.UID))
		start := time.Now()
		log.Info("prepare starts", "path", req.LockPath, "environments", req.Environments, "platforms", req.Platforms)
		result, err = s.backends.Work.Prepare(ctx, req, report)
		var need *api.NeedError
		switch {
		case errors.As(err, &need):
			log.Info("prepare waits for local archives", "archives", len(need.Archives))
		case err != nil:
			log.Warn("prepare failed", "seconds", time.Since(start).Seconds(), "err", err)
		default:
			log.Info("prepare done", "seconds", time.Since(start).Seconds(), "kept", result.PackagesKept, "new", result.PackagesNew)
		}
		return result, err
	}
}

// need is what one client, of the group gid, is told of archives that must be brought:
// several may wait for the same work.
func (s *Server) need(e *api.NeedError, gid int) (api.Message, error) {
	m := api.Message{Need: slices.Clone(e.Archives)}
	for i := range m.Need {
		if !m.Need[i].Credential {
			continue
		}
		held, err := s.backends.Work.Holds(gid, m.Need[i].SHA256)
		if err != nil {
			return api.Message{}, err
		}
		m.Need[i].Held = held
	}
	return m, nil
}

// key identifies what a request asks for, whatever its order and whoever asks; where
// a part of the store that is a group's own may count, only the group's members ask
// alike. ownParts are the groups of the caller that have one.
func key(req *api.PrepareRequest, ownParts []int) string {
	q := *req
	q.LockPath = "" // where the lock lies changes nothing about the work
	q.Environments = slices.Sorted(slices.Values(req.Environments))
	q.Platforms = slices.Sorted(slices.Values(req.Platforms))
	data, err := json.Marshal(q) // maps are written in key order
	if err != nil {
		panic(err) // a struct of strings and bytes always encodes
	}
	if req.Private || req.Offline || len(ownParts) > 0 {
		data = fmt.Appendf(data, "\n%d %v", req.Group, ownParts)
	}
	return digest(data)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func short(d string) string { return d[:8] }
