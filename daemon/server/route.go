package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Route is one thing that can be asked of the daemon, and by whom. All of them stand in
// the table (table.go), and nothing is answered that does not.
type Route struct {
	// Method and Pattern as http.ServeMux has them.
	Method, Pattern string
	// For are the roles that may ask. Owner needs the function Owner. Administrators may
	// what support and owners may, so a route names them only where nobody else is named.
	For Roles
	// What it does, as a refusal says it: "only administrators may WHAT".
	What string
	// Owner tells whose the thing is that is asked about. An error is what the caller is
	// told, unless it is of the class fs.ErrNotExist and the caller may read all.
	Owner func(*Request) (uid int, err error)
	// Body bounds what a request may carry, in bytes; 0 = nothing. It is read whole
	// before Answer or Stream is called.
	Body int64
	// Upload: the body is not read before, but by Stream or Answer itself, as long as it
	// comes; Body bounds it, too.
	Upload bool

	// Answer returns what is written as JSON; nil = an answer without content. One of
	// Answer and Stream is set.
	Answer func(*Request) (any, error)
	// Stream writes the answer itself. An error that it returns is told if nothing was
	// written yet.
	Stream func(http.ResponseWriter, *Request) error
}

// Request is what a route's function gets.
type Request struct {
	*http.Request
	// Caller is who asks; never nil but for a Stranger's.
	Caller *Caller
	// Data is the body, unless the route takes an Upload.
	Data []byte

	// share gives back what Data takes of the caller's share of the daemon's memory; nil =
	// nothing is held.
	share func()
}

// KeepShare hands over what the request holds of the caller's share of the daemon's
// memory, to work that goes on with Data after the request ended: release is to be called
// once nothing holds Data any more.
func (r *Request) KeepShare() (release func()) {
	release, r.share = r.share, nil
	if release == nil {
		release = func() {}
	}
	return release
}

// Decode reads the body as JSON. Unknown fields are passed over: a newer client may
// tell more. Errors are of ExitUsage.
func (r *Request) Decode(into any) error {
	if err := json.Unmarshal(r.Data, into); err != nil {
		return api.Errorf(api.ExitUsage, "%s: the request cannot be read: %v", r.URL.Path, err)
	}
	return nil
}

// ForbiddenError: the caller has not the role that a route is for.
type ForbiddenError struct {
	Caller *Caller
	What   string
	For    Roles
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("only %s may %s; you are %s\nnext: ask an administrator of hpcenv on this cluster (administrators.users and administrators.groups in the configuration of hpcenvd name them, root is one on the daemon's host)", e.For, e.What, e.Caller)
}

// Unwrap makes it of the class api.ErrForbidden, and wrong usage.
func (e *ForbiddenError) Unwrap() []error {
	return []error{api.ErrForbidden, api.Errorf(api.ExitUsage, "%s", e.Error())}
}

// allowed tells whether the caller may ask.
func (rt *Route) allowed(r *Request) error {
	if rt.For&Stranger != 0 {
		return nil
	}
	if r.Caller == nil {
		return errNobody
	}
	may := rt.For
	if may&(Support|Owner) != 0 {
		may |= Administrator
	}
	if r.Caller.Is(may) {
		return nil
	}
	forbidden := &ForbiddenError{Caller: r.Caller, What: rt.What, For: rt.For}
	if rt.For&Owner == 0 {
		return forbidden
	}
	uid, err := rt.Owner(r)
	if err != nil {
		return err
	}
	if uid != r.Caller.UID {
		return forbidden
	}
	return nil
}

// readWithin bounds how long a client may take to send what a request carries, if that
// is no upload.
const readWithin = 5 * time.Minute

// serve answers one request of a known caller (nil = a Stranger).
func (s *Server) serve(rt *Route, w http.ResponseWriter, r *http.Request, caller *Caller) {
	req := &Request{Request: r, Caller: caller}
	if err := rt.allowed(req); err != nil {
		s.log.Warn("a request was refused", "caller", caller, "method", r.Method, "path", r.URL.Path, "err", err)
		s.fail(w, r, err)
		return
	}
	defer func() { req.KeepShare()() }()
	if err := s.body(rt, w, req); err != nil {
		s.fail(w, r, err)
		return
	}
	if rt.Stream != nil {
		out := &watched{ResponseWriter: w}
		switch err := rt.Stream(out, req); {
		case err == nil:
		case out.begun:
			s.log.Info("an answer ended early", "caller", caller, "path", r.URL.Path, "err", err)
		default:
			s.fail(w, r, err)
		}
		return
	}
	v, err := rt.Answer(req)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case v == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		s.write(w, r, http.StatusOK, v)
	}
}

// body reads what the request carries within the caller's share of the daemon's memory.
func (s *Server) body(rt *Route, w http.ResponseWriter, r *Request) (err error) {
	r.Body = http.MaxBytesReader(w, r.Body, rt.Body)
	control := http.NewResponseController(w)
	switch {
	case rt.Body == 0:
		return control.SetReadDeadline(time.Time{})
	case rt.Upload:
		r.Body = &moving{ReadCloser: r.Body, control: control}
		return nil
	}
	size := r.ContentLength
	if size < 0 || size > rt.Body {
		size = rt.Body // so much of it is read at most
	}
	uid := -1
	if r.Caller != nil {
		uid = r.Caller.UID
	}
	if r.share, err = s.shares.take(r.Context(), uid, size); err != nil {
		return api.Errorf(api.ExitUnreachable, "%s: gave up waiting for earlier requests of yours: %v", r.URL.Path, err)
	}
	if err := control.SetReadDeadline(time.Now().Add(readWithin)); err != nil {
		return api.Errorf(api.ExitFailed, "%s: the request's time cannot be bounded: %v", r.URL.Path, err)
	}
	if r.Data, err = io.ReadAll(r.Body); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = fmt.Errorf("the request is larger than %d bytes", large.Limit)
		}
		return api.Errorf(api.ExitUsage, "%s: the request cannot be read: %v", r.URL.Path, err)
	}
	// It sends no more; what it may still do is leave.
	return control.SetReadDeadline(time.Time{})
}

// moving is an upload, of which something must come every so often. It may take as long as
// it takes.
type moving struct {
	io.ReadCloser
	control *http.ResponseController
}

// uploadWithin bounds the time in which an upload must move on.
const uploadWithin = time.Minute

func (m *moving) Read(p []byte) (int, error) {
	if err := m.control.SetReadDeadline(time.Now().Add(uploadWithin)); err != nil {
		return 0, err
	}
	n, err := m.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		// It sends no more; what it may still do is leave.
		if derr := m.control.SetReadDeadline(time.Time{}); derr != nil {
			return n, derr
		}
	}
	return n, err
}

// watched knows whether an answer has begun.
type watched struct {
	http.ResponseWriter
	begun bool
}

func (w *watched) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// check is whether a row of the table makes sense.
func (rt *Route) check() error {
	switch {
	case rt.For == 0:
		return errors.New("is for nobody")
	case rt.What == "":
		return errors.New("does not say what it does")
	case (rt.Answer == nil) == (rt.Stream == nil):
		return errors.New("needs Answer or Stream")
	case rt.For&Owner != 0 && rt.Owner == nil:
		return errors.New("is for owners and does not say whose the thing is")
	case !strings.HasPrefix(rt.Pattern, "/v1/"):
		return errors.New("does not begin with /v1/")
	}
	return nil
}
