package requirement

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Of are the requirements of an environment on a platform, sorted by spec: what
// its conda packages depend on and constrain, the virtual packages of a pixi.lock
// 7's platform, the platform tags of its wheels, and what the manifest asks
// (project.VirtualPackages: virtual package to version; nil = nothing). Of equal
// specs from equal sources there is one, with all packages.
//
// A spec that nobody can read is a requirement, too: Check says so, and no node
// has it.
func Of(p *lockfile.Platform, manifest map[string]string) []Requirement {
	c := collection{}
	for _, spec := range p.VirtualPackages {
		c.add(spec, Platform, "")
	}
	for _, pkg := range p.Conda {
		by := pkg.Name + " " + pkg.Version
		for _, spec := range pkg.Depends {
			if virtual(spec) {
				c.add(spec, Depends, by)
			}
		}
		for _, spec := range pkg.Constrains {
			if virtual(spec) {
				c.add(spec, Constrains, by)
			}
		}
	}
	for _, w := range p.Installed() {
		if w.Kind == lockfile.PyPIWheel {
			for _, spec := range ofWheel(w.FileName, p.Subdir) {
				c.add(spec, Wheel, w.Name+" "+w.Version)
			}
		}
	}
	for name, value := range manifest {
		c.add(ofManifest(name, value), Manifest, "")
	}
	families, compat := cudaOf(p)
	for _, f := range families {
		for _, by := range f.by {
			c.add(driverSpec+" "+f.version.String(), CUDA, by)
			c.add(computeSpec+" "+f.version.String(), CUDA, by)
		}
	}
	out := c.sorted()
	for i := range out {
		if r := &out[i]; compat != "" && r.overDriver() {
			r.Compat = compat
		}
	}
	return out
}

// overDriver tells whether a requirement is over the driver for CUDA.
func (r *Requirement) overDriver() bool {
	if r.Source == CUDA {
		return strings.HasPrefix(r.Spec, driverSpec)
	}
	a, err := read(*r)
	return err == nil && a.name == "__cuda"
}

// virtual tells whether a match spec is over a virtual package, without reading
// all of it.
func virtual(spec string) bool {
	if _, name, ok := strings.Cut(spec, "::"); ok && strings.HasPrefix(strings.TrimSpace(name), "__") {
		return true
	}
	return strings.HasPrefix(strings.TrimSpace(spec), "__")
}

// ofManifest is the spec that a system requirement stands for: that version or a
// newer one, of a microarchitecture that one or a descendant.
func ofManifest(name, value string) string {
	value = strings.TrimSpace(value)
	switch {
	case name == archspec:
		return archspec + " 1 " + value
	case value == "" || value == "*":
		return name
	case strings.ContainsAny(value[:1], "<>=!~"):
		return name + " " + value
	}
	return name + " >=" + value
}

// collection is requirements by what they ask, each with its packages.
type collection map[[2]string]map[string]bool

func (c collection) add(spec string, from Source, by string) {
	key := [2]string{spec, string(from)}
	if c[key] == nil {
		c[key] = map[string]bool{}
	}
	if by != "" {
		c[key][by] = true
	}
}

func (c collection) sorted() []Requirement {
	out := make([]Requirement, 0, len(c))
	for key, by := range c {
		out = append(out, Requirement{Spec: key[0], Source: Source(key[1]), Packages: slices.Sorted(maps.Keys(by))})
	}
	slices.SortFunc(out, func(a, b Requirement) int {
		return cmp.Or(cmp.Compare(a.Spec, b.Spec), cmp.Compare(rank[a.Source], rank[b.Source]))
	})
	return out
}

// rank orders sources of one spec.
var rank = map[Source]int{Platform: 0, Depends: 1, Constrains: 2, Wheel: 3, Manifest: 4, CUDA: 5}
