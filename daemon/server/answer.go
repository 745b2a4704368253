package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/hpcenv/hpcenv/daemon/api"
)

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
	if errors.Is(err, api.ErrForbidden) {
		status = http.StatusForbidden
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
