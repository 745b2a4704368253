package server

import (
	"slices"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/munge/mungehttp"
)

const (
	// maxUpload bounds one handed-over archive in bytes.
	maxUpload = 64 << 30
	// maxFacts bounds what a node tells of itself in bytes.
	maxFacts = 256 << 10
)

// Table is all that the daemon answers, and to whom: nothing is answered that is not in
// it. Each room has a function of its own, in a file of its own, that returns its rows.
func (s *Server) Table() []Route {
	return slices.Concat(
		s.prepareRoutes(),
		s.environmentRoutes(),
		s.nodeRoutes(),
		s.indexRoutes(),
		s.leaseRoutes(),
		s.mineRoutes(),
		s.gcRoutes(),
		s.configRoutes(),
		s.statusRoutes(),
	)
}

// prepareRoutes are about making environments.
func (s *Server) prepareRoutes() []Route {
	return []Route{
		{Method: "POST", Pattern: "/v1/prepare", For: User, What: "prepare environments", Body: s.opts.MaxBody, Stream: s.prepare},
		// From any user: what counts is that the bytes have the digest, and that Prepare
		// asked for them.
		{Method: "PUT", Pattern: "/v1/archives/{sha256}", For: User, What: "hand over archives", Body: maxUpload, Upload: true, Answer: func(r *Request) (any, error) {
			return nil, s.backends.Work.PutArchive(r.Context(), r.Caller.GID, r.PathValue("sha256"), r.Body)
		}},
	}
}

// environmentRoutes tell what is there; what is a group's only its members see.
func (s *Server) environmentRoutes() []Route {
	return []Route{
		{Method: "GET", Pattern: "/v1/environments", For: User, What: "list environments", Answer: func(r *Request) (any, error) {
			envs, err := s.backends.Work.ListFor(r.Context(), r.Caller.Groups)
			if envs == nil {
				envs = []api.Environment{}
			}
			return envs, err
		}},
		{Method: "GET", Pattern: "/v1/environments/{id}", For: User, What: "inspect environments", Answer: func(r *Request) (any, error) {
			return s.backends.Work.InspectFor(r.Context(), r.Caller.Groups, r.PathValue("id"))
		}},
		{Method: "GET", Pattern: "/v1/status", For: User, What: "ask what the daemon serves", Answer: func(r *Request) (any, error) {
			return s.backends.Work.Status(r.Context())
		}},
		{Method: "GET", Pattern: mungehttp.InstancePath, For: Stranger, What: "ask which run of the daemon this is", Answer: func(*Request) (any, error) {
			return mungehttp.Instance{Instance: s.instance}, nil
		}},
		{Method: "POST", Pattern: "/v1/site-builds/{id}/retry", For: Administrator, What: "have failed builds tried again", Answer: func(r *Request) (any, error) {
			return s.backends.Work.RetrySiteBuilds(r.Context(), r.PathValue("id"), r.URL.Query().Get("name"))
		}},
	}
}

// nodeRoutes are what nodes tell.
func (s *Server) nodeRoutes() []Route {
	return []Route{
		{Method: "PUT", Pattern: "/v1/nodes/{name}/facts", For: NodeRoot, What: "tell what a node is", Body: maxFacts, Answer: func(r *Request) (any, error) {
			if s.backends.Nodes == nil {
				return nil, errNotHere
			}
			return nil, s.backends.Nodes.NodeFacts(r.Context(), r.PathValue("name"), r.Caller.Host, r.Data)
		}},
	}
}

// errNotHere: this daemon was put together without the part that answers.
var errNotHere = api.Errorf(api.ExitUnreachable, "this hpcenvd does not do that\nnext: its configuration may turn it on")
