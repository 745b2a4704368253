package service

import (
	"errors"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/needs"
)

// needsOf is what is known of what an environment's files ask of a node, or why nothing
// is.
func needsOf(m described) (known *api.Needs, unknown string) {
	n, err := needs.Load(m.in.NeedsPath(m.ID, m.Platform))
	switch {
	case errors.Is(err, needs.ErrNone):
		return nil, "not known: an earlier release made the environment; hpcenv prepare finds it out"
	case errors.Is(err, needs.ErrVersion), errors.Is(err, needs.ErrBroken):
		return nil, err.Error() + "; hpcenv prepare finds it out anew"
	case err != nil:
		return nil, err.Error()
	}
	out := new(api.Needs)
	for _, r := range n.Requirements {
		if version, is := strings.CutPrefix(r.Spec, "__glibc >="); is {
			out.Glibc = &api.NeedsFloor{Version: version, File: r.File, Package: strings.Join(r.Packages, ", ")}
		}
	}
	if n.Page != nil {
		out.Page = &api.NeedsPage{Size: n.Page.Size, File: n.Page.File, Package: n.Page.Package}
	}
	for _, l := range n.Libraries {
		out.Libraries = append(out.Libraries, api.NeedsLibrary(l))
	}
	for _, r := range n.Runtime {
		out.Runtime = append(out.Runtime, api.NeedsFloor{Version: r.Name, File: r.File, Package: r.Package})
	}
	for _, c := range n.Copies {
		out.Copies = append(out.Copies, api.NeedsCopies(c))
	}
	for _, f := range n.Foreign {
		out.Foreign = append(out.Foreign, api.NeedsFile{File: f.File, What: f.Machine})
	}
	for _, b := range n.Broken {
		out.Broken = append(out.Broken, api.NeedsFile{File: b.File, What: b.Problem})
	}
	for _, c := range n.CUDA {
		out.CUDA = append(out.CUDA, api.NeedsCUDA{File: c.File, Code: c.Code, Problem: c.Problem, Package: c.Package})
	}
	for _, o := range n.Modules {
		out.Modules = append(out.Modules, api.NeedsModule{Of: o.Of, Path: o.Path, Links: o.Links, Package: o.Package})
	}
	return out, ""
}
