package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/cache/fair"
	"github.com/hpcenv/hpcenv/daemon/api"
)

// maxUpload bounds one handed-over archive in bytes.
const maxUpload = 64 << 30

// prepare starts or joins work and streams what it tells.
func (s *Server) prepare(w http.ResponseWriter, r *http.Request) {
	who, known := peer(r)
	release, err := s.admit(w, r, who.Uid)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	mine := true // until a job begins, which outlives this client
	defer func() {
		if mine {
			release()
		}
	}()
	req := new(api.PrepareRequest)
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.opts.MaxBody)).Decode(req); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = fmt.Errorf("the request is larger than %d bytes", large.Limit)
		}
		s.fail(w, r, api.Errorf(api.ExitUsage, "prepare: the request cannot be read: %v", err))
		return
	}
	if req.Private && !known {
		s.fail(w, r, errNobody)
		return
	}
	req.Group = -1
	if known {
		req.Group, req.Groups = int(who.Gid), peerGroups(r)
	}
	// It sends no more; what it may still do is leave.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		s.fail(w, r, err)
		return
	}
	log := s.log.With("uid", who.Uid, "lock", short(digest(req.Lock)))
	j, joined := s.jobs.join(key(req, s.backend.OwnParts(req.Groups)), release, func(ctx context.Context, report func(api.Event)) (result *api.PrepareResult, err error) {
		defer func() { // one lock's fault is not everybody's
			if cause := recover(); cause != nil {
				log.Error("prepare panicked", "cause", cause, "stack", string(debug.Stack()))
				err = api.Errorf(api.ExitFailed, "a fault of hpcenvd itself: %v\nnext: report it with the lock file; the daemon's log says where", cause)
			}
		}()
		ctx = fair.With(ctx, who.Uid)
		start := time.Now()
		log.Info("prepare starts", "path", req.LockPath, "environments", req.Environments, "platforms", req.Platforms)
		result, err = s.backend.Prepare(ctx, req, report)
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
	})
	if j == nil {
		s.fail(w, r, api.Errorf(api.ExitUnreachable, "hpcenvd is stopping\nnext: the same command again when it is back"))
		return
	}
	if mine = joined; joined {
		release()
		log.Info("prepare joins work that runs already")
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	enc, flush := json.NewEncoder(w), http.NewResponseController(w)
	err = j.follow(r.Context(), func(events []api.Event) error {
		for i := range events {
			if err := enc.Encode(api.Message{Event: &events[i]}); err != nil {
				return err
			}
		}
		return flush.Flush()
	})
	if err != nil {
		log.Info("client left; the work goes on", "err", err)
		return
	}
	last := api.Message{Result: j.result}
	var need *api.NeedError
	if errors.As(j.err, &need) {
		if last, err = s.need(need, int(who.Gid), known); err != nil {
			last = api.Message{Error: s.opts.Classify(err)}
		}
	} else if j.err != nil {
		last = api.Message{Error: s.opts.Classify(j.err)}
	}
	if err := enc.Encode(last); err != nil {
		log.Info("client left before the end", "err", err)
	}
}

// need is what one client, of the group gid if that is known, is told of archives
// that must be brought: several may wait for the same work.
func (s *Server) need(e *api.NeedError, gid int, known bool) (api.Message, error) {
	m := api.Message{Need: slices.Clone(e.Archives)}
	for i := range m.Need {
		if !m.Need[i].Credential || !known {
			continue
		}
		held, err := s.backend.Holds(gid, m.Need[i].SHA256)
		if err != nil {
			return api.Message{}, err
		}
		m.Need[i].Held = held
	}
	return m, nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	envs, err := s.backend.ListFor(r.Context(), peerGroups(r))
	if envs == nil {
		envs = []api.Environment{}
	}
	s.answer(w, r, envs, err)
}

func (s *Server) inspect(w http.ResponseWriter, r *http.Request) {
	detail, err := s.backend.InspectFor(r.Context(), peerGroups(r), r.PathValue("id"))
	s.answer(w, r, detail, err)
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	st, err := s.backend.Status(r.Context())
	s.answer(w, r, st, err)
}

// retrySiteBuilds is for who administers the store.
func (s *Server) retrySiteBuilds(w http.ResponseWriter, r *http.Request) {
	if who, known := peer(r); !known || who.Uid != 0 && int(who.Uid) != os.Geteuid() {
		s.fail(w, r, api.Errorf(api.ExitUsage, "only root and the daemon's own account may have failed builds tried again\nnext: tell the administrator"))
		return
	}
	builds, err := s.backend.RetrySiteBuilds(r.Context(), r.PathValue("id"), r.URL.Query().Get("name"))
	s.answer(w, r, builds, err)
}

func (s *Server) putArchive(w http.ResponseWriter, r *http.Request) {
	body := http.MaxBytesReader(w, r.Body, maxUpload)
	who, ok := peer(r)
	if !ok {
		s.fail(w, r, errNobody)
		return
	}
	if err := s.backend.PutArchive(r.Context(), int(who.Gid), r.PathValue("sha256"), body); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// errNobody: the kernel did not say who is on the other end.
var errNobody = api.Errorf(api.ExitFailed, "hpcenvd cannot tell who asks, and what needs a credential is for its user's group only")

// answer writes v, or err.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, v)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := s.opts.Classify(err)
	status := http.StatusInternalServerError
	switch e.Code {
	case api.ExitUsage:
		status = http.StatusBadRequest
	case api.ExitNoFit:
		status = http.StatusUnprocessableEntity
	case api.ExitLate:
		status = http.StatusGatewayTimeout
	case api.ExitUnreachable:
		status = http.StatusServiceUnavailable
	}
	s.write(w, r, status, e)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Info("client left", "path", r.URL.Path, "err", err)
	}
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
