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
	data, err := encode(v)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		s.log.Info("an answer was not told", "path", r.URL.Path, "err", err)
	}
}

// encode is v as one line of JSON.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return append(data, '\n'), err
}
