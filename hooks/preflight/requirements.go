package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// requirementIDs are what findings about a virtual package are called.
var requirementIDs = map[string]string{
	"__glibc": "glibc", "__archspec": "microarchitecture", "__linux": "kernel",
}

// node is what the facts amount to for requirements.
func (in *Input) node() requirement.Node {
	n := requirement.Node{Virtuals: map[string]requirement.Virtual{}, Ancestors: facts.OverrideAncestors(in.Facts.CPU.Ancestors, in.Override)}
	for _, v := range facts.Virtuals(in.Facts, in.Override) {
		n.Virtuals[v.Name] = v
	}
	if in.Facts.GPU != nil {
		n.Driver = in.Facts.GPU.Driver
	}
	return n
}

// requirements: what packages, files and the manifest ask of the node, but for the GPU
// (cuda.go). What the node has of one thing is said once, with all who ask for more.
func requirements(_ context.Context, in *Input) ([]Finding, error) {
	if in.Facts == nil {
		return nil, nil
	}
	node := in.node()
	type group struct {
		id    string
		unmet []requirement.Judged
		met   []requirement.Judged
	}
	var groups []*group
	for _, r := range in.asked() {
		v := requirement.Check(r, node)
		if strings.HasPrefix(v.Name, "__cuda") || strings.HasPrefix(r.Spec, "__cuda") {
			continue
		}
		id := requirementIDs[v.Name]
		if id == "" {
			id = "requirements"
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.id == id })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{id: id})
		}
		g := groups[i]
		if j := (requirement.Judged{Requirement: r, Verdict: v}); v.OK() {
			g.met = append(g.met, j)
		} else {
			g.unmet = append(g.unmet, j)
		}
	}
	var out []Finding
	for _, g := range groups {
		f := Finding{ID: g.id, Level: Fits}
		list := g.met
		if len(g.unmet) > 0 {
			list = g.unmet
			f.Level, f.Act = Unfit, User
			f.Next = "keep off such nodes (--exclude, --constraint), or take another environment of the lock (hpcenv plan shows which fit)"
		}
		f.Evidence = strings.Join(requirement.Texts(list, node), "; ")
		for _, j := range list {
			f.Packages = append(f.Packages, j.Requirement.Packages...)
			if f.File == "" {
				f.File = j.Requirement.File
			}
		}
		slices.Sort(f.Packages)
		f.Packages = slices.Compact(f.Packages)
		out = append(out, f)
	}
	return out, nil
}

// asked are all requirements, each once.
func (in *Input) asked() []requirement.Requirement {
	var list []requirement.Requirement
	if in.Needs != nil {
		list = slices.Concat(in.Needs.Locked, in.Needs.Requirements)
	}
	return append(list, in.Manifest...)
}

// pageSize: files that are laid out for smaller pages than the kernel has cannot be
// loaded.
func pageSize(_ context.Context, in *Input) ([]Finding, error) {
	if in.Facts == nil || in.Needs == nil || in.Needs.Page == nil || in.Facts.PageSize == 0 {
		return nil, nil
	}
	p := in.Needs.Page
	by := p.Package
	if by == "" {
		by = "made by hpcenv"
	}
	f := Finding{ID: "page-size", Level: Fits, File: p.File,
		Evidence: fmt.Sprintf("has pages of %d KiB, programs are laid out for up to %d KiB (%s, in %s)", in.Facts.PageSize>>10, p.Size>>10, by, p.File)}
	if p.Package != "" {
		f.Packages = []string{p.Package}
	}
	if in.Facts.PageSize > p.Size {
		f.Level, f.Act = Unfit, User
		f.Next = "keep off such nodes (--exclude, --constraint), or have the package built with -Wl,-z,max-page-size=65536"
	}
	return []Finding{f}, nil
}
