package oracle

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// CompareRewritten lists in what two locks differ, both read by hpcenv: one, and
// the one that rattler wrote from it. It looks at what a LockDump lacks.
func CompareRewritten(rewritten, ours *lockfile.Lock) []Difference {
	c := &lockComparison{}
	theirs := map[string]*lockfile.Environment{}
	for _, env := range rewritten.Environments {
		theirs[env.Name] = env
	}
	for _, o := range ours.Environments {
		t := theirs[o.Name]
		if t == nil {
			c.differ(o.Name, "environment", "", "", o.Name)
			continue
		}
		c.differ(o.Name, "indexes", "", strings.Join(t.Indexes, " "), strings.Join(o.Indexes, " "))
		c.differ(o.Name, "find-links", "", strings.Join(t.FindLinks, " "), strings.Join(o.FindLinks, " "))
		byName := map[string]*lockfile.Platform{}
		for _, p := range slices.Concat(t.Platforms, t.Others) {
			byName[p.Name] = p
		}
		for _, p := range slices.Concat(o.Platforms, o.Others) {
			at := o.Name + " " + p.Name
			q := byName[p.Name]
			if q == nil {
				c.differ(at, "platform", "", "", p.Name)
				continue
			}
			c.rewritten(at, q, p)
		}
	}
	return c.all
}

func (c *lockComparison) rewritten(at string, theirs, ours *lockfile.Platform) {
	conda := map[string]*lockfile.CondaPackage{}
	for _, pkg := range theirs.Conda {
		conda[pkg.Location] = pkg
	}
	for _, o := range ours.Conda {
		t := conda[o.Location]
		if t == nil {
			c.differ(at+" "+o.Location, "package", "", "", o.Name)
			continue
		}
		c.differ(at+" "+o.Location, "record", "", string(t.Record()), string(o.Record()))
	}
	pypi := map[string]*lockfile.PyPIPackage{}
	for _, pkg := range theirs.PyPI {
		pypi[pkg.Location] = pkg
	}
	for _, o := range ours.PyPI {
		where := at + " " + o.Location
		t := pypi[o.Location]
		if t == nil {
			c.differ(where, "package", "", "", o.Name)
			continue
		}
		c.differ(where, "index", "", t.Index, o.Index)
		c.differ(where, "pypi", "kind", string(t.Kind), string(o.Kind))
		c.differ(where, "pypi", "url", t.URL, o.URL)
		c.differ(where, "pypi", "commit", t.Commit, o.Commit)
		c.differ(where, "pypi", "ref", t.Ref, o.Ref)
		c.differ(where, "pypi", "subdirectory", t.Subdirectory, o.Subdirectory)
		c.differ(where, "pypi", "build", strings.Join(t.BuildPackages, " "), strings.Join(o.BuildPackages, " "))
		c.differ(where, "pypi", "host", strings.Join(t.HostPackages, " "), strings.Join(o.HostPackages, " "))
	}
	entries := map[string]bool{}
	for _, u := range theirs.Unsupported {
		entries[u.Name] = true
	}
	for _, u := range ours.Unsupported {
		if !entries[u.Name] {
			c.differ(at+" "+u.Location, "package", "", "", u.Name)
		}
	}
}
