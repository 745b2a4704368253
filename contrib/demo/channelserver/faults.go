package channelserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// Fault is one way to misbehave.
type Fault struct {
	// Kind: drop (close the connection after After bytes), status (answer
	// Status), wrong (other bytes, same length), truncate (a whole answer that has
	// After bytes only), slow (Rate bytes a second), norange (ignore Range), hang
	// (never answer).
	Kind string `json:"kind"`
	// Match is a pattern (path.Match) for the last part of the path; "" = all.
	Match string `json:"match,omitempty"`
	// Times it happens; 0 = always.
	Times int `json:"times,omitempty"`
	// After is a number of bytes of the body (drop, truncate).
	After int64 `json:"after,omitempty"`
	// Status code (status).
	Status int `json:"status,omitempty"`
	// Rate in bytes a second (slow).
	Rate int64 `json:"rate,omitempty"`
}

type liveFault struct {
	Fault
	used int
}

// check refuses a fault that could not happen.
func (f *Fault) check() error {
	if _, err := path.Match(f.Match, ""); err != nil {
		return fmt.Errorf("fault %s: pattern %q: %w", f.Kind, f.Match, err)
	}
	switch f.Kind {
	case "drop", "wrong", "norange", "hang":
	case "status":
		if f.Status < 200 || f.Status > 599 {
			return fmt.Errorf("fault status: %d is no status code to answer with", f.Status)
		}
	case "truncate":
		if f.After <= 0 {
			return errors.New("fault truncate: after must be above 0")
		}
	case "slow":
		if f.Rate <= 0 {
			return errors.New("fault slow: rate must be above 0 bytes a second")
		}
	default:
		return fmt.Errorf("fault %q: the kinds are drop, status, wrong, truncate, slow, norange, hang", f.Kind)
	}
	return nil
}

// ParseFault reads KIND[:KEY=VALUE]…, e.g. "status:match=numpy*:status=500:times=2".
func ParseFault(s string) (Fault, error) {
	parts := strings.Split(s, ":")
	f := Fault{Kind: parts[0]}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return f, fmt.Errorf("fault %q: %q is not KEY=VALUE", s, p)
		}
		if key == "match" {
			f.Match = value
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return f, fmt.Errorf("fault %q: %s: %w", s, key, err)
		}
		switch key {
		case "times":
			f.Times = int(n)
		case "after":
			f.After = n
		case "status":
			f.Status = int(n)
		case "rate":
			f.Rate = n
		default:
			return f, fmt.Errorf("fault %q: the keys are match, times, after, status, rate", s)
		}
	}
	return f, f.check()
}

// SetFaults replaces the faults. Of those that match a request, the first that
// is not used up happens.
func (s *Server) SetFaults(list ...Fault) error {
	live := make([]*liveFault, 0, len(list))
	for _, f := range list {
		if err := f.check(); err != nil {
			return err
		}
		live = append(live, &liveFault{Fault: f})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = live
	return nil
}

// take counts and returns the fault for a file name; nil = behave.
func (s *Server) take(name string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Match != "" {
			if ok, err := path.Match(f.Match, name); err != nil || !ok {
				continue // err cannot be: SetFaults checked the pattern
			}
		}
		if f.Times == 0 || f.used < f.Times {
			f.used++
			return &f.Fault
		}
	}
	return nil
}

// apply prepares w and r, or answers itself (done).
func (f *Fault) apply(w *writer, r *http.Request) (done bool) {
	switch f.Kind {
	case "status":
		http.Error(w, http.StatusText(f.Status), f.Status)
		return true
	case "hang":
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case "drop":
		w.left = f.After
	case "wrong":
		w.wrong = true
	case "truncate":
		w.cut = f.After
	case "slow":
		w.rate = f.Rate
	case "norange":
		r.Header.Del("Range")
	}
	return false
}

// writer counts and spoils what passes.
type writer struct {
	http.ResponseWriter
	ctx    context.Context
	status int
	sent   int64
	// left bytes until the connection is dropped; -1 = never.
	left  int64
	cut   int64
	wrong bool
	rate  int64
}

func (w *writer) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	total := len(p)
	drop := w.left >= 0 && int64(len(p)) > w.left
	if drop {
		p = p[:w.left]
	}
	if w.wrong {
		q := make([]byte, len(p))
		for i, b := range p {
			q[i] = b ^ 0x5a
		}
		p = q
	}
	n, err := w.paced(p)
	w.sent += int64(n)
	if w.left >= 0 {
		w.left -= int64(n)
	}
	if err != nil {
		return n, err
	}
	if drop {
		// What was let through must arrive before the connection goes.
		if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
			return n, err
		}
		panic(http.ErrAbortHandler)
	}
	return total, nil
}

// paced writes at most rate bytes a second, in ten portions a second.
func (w *writer) paced(p []byte) (int, error) {
	if w.rate <= 0 {
		return w.ResponseWriter.Write(p)
	}
	portion, done := int(max(w.rate/10, 1)), 0
	for done < len(p) {
		n, err := w.ResponseWriter.Write(p[done:min(done+portion, len(p))])
		done += n
		if err != nil {
			return done, err
		}
		if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
			return done, err
		}
		sleep(w.ctx, 100*time.Millisecond)
		if err := w.ctx.Err(); err != nil {
			return done, err
		}
	}
	return done, nil
}

// serveCut serves the first n bytes as if they were the file.
func serveCut(w *writer, r *http.Request, f io.ReaderAt, info fs.FileInfo, n int64) {
	http.ServeContent(w, r, info.Name(), info.ModTime(), io.NewSectionReader(f, 0, n))
}
