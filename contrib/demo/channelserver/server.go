// Package channelserver serves a folder over HTTP, with ranges, and misbehaves
// on demand.
//
// Enters: a folder (a conda channel), and Faults. Leaves: an http.Handler and a
// log of what was asked of it. Tests use it in-process; `mkchannel serve` is the
// same as a program, steered over HTTP:
//
//	GET  /-/requests   what was asked, as JSON
//	POST /-/reset      forget that, and all faults
//	PUT  /-/faults     a JSON list of Fault, replacing the present ones
package channelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// Request is one request that was answered (or broken off).
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// Range header of the request.
	Range string `json:"range,omitempty"`
	// Status sent, and bytes of the body; 0 if nothing was sent.
	Status int   `json:"status"`
	Bytes  int64 `json:"bytes"`
	// Fault that was applied, by kind.
	Fault string `json:"fault,omitempty"`
}

// Log is what /-/requests answers.
type Log struct {
	Total    int            `json:"total"`
	ByPath   map[string]int `json:"by_path"`
	Requests []Request      `json:"requests"`
}

// Server is the handler.
type Server struct {
	root *os.Root

	mu     sync.Mutex
	faults []*liveFault
	log    []Request
}

// New serves dir. Close releases it.
func New(dir string) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder to serve: %w", err)
	}
	return &Server{root: root}, nil
}

// Close releases the folder.
func (s *Server) Close() error { return s.root.Close() }

// Log returns what was asked so far, in the order in which it was answered.
func (s *Server) Log() Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Log{Total: len(s.log), ByPath: map[string]int{}, Requests: append([]Request{}, s.log...)}
	for _, r := range s.log {
		l.ByPath[r.Path]++
	}
	return l
}

// Reset forgets requests and faults.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.faults = nil, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		s.control(w, r)
		return
	}
	req := Request{Method: r.Method, Path: r.URL.Path, Range: r.Header.Get("Range")}
	out := &writer{ResponseWriter: w, left: -1, ctx: r.Context()}
	// Deferred: a fault may end the handler by a panic that net/http wants.
	defer func() {
		req.Status, req.Bytes = out.status, out.sent
		s.mu.Lock()
		s.log = append(s.log, req)
		s.mu.Unlock()
	}()
	if f := s.take(path.Base(r.URL.Path)); f != nil {
		req.Fault = f.Kind
		if done := f.apply(out, r); done {
			return
		}
	}
	s.file(out, r)
}

func (s *Server) file(w *writer, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "."
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	f, err := s.root.Open(name)
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			code = http.StatusNotFound
		}
		http.Error(w, http.StatusText(code), code)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.Error(w, "not a file", http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
	w.Header().Set("Content-Type", "application/octet-stream")
	if w.cut > 0 && w.cut < info.Size() {
		serveCut(w, r, f, info, w.cut)
		return
	}
	http.ServeContent(w, r, name, info.ModTime(), f)
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /-/requests":
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.Log()); err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
	case "POST /-/reset":
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	case "PUT /-/faults":
		var list []Fault
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			http.Error(w, "faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		if err := s.SetFaults(list...); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "GET /-/requests, POST /-/reset, PUT /-/faults", http.StatusNotFound)
	}
}

// sleep waits or returns early when the client goes away.
func sleep(r interface{ Done() <-chan struct{} }, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Done():
	}
}
