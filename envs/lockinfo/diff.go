package lockinfo

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Difference is what a newer lock changes.
type Difference struct {
	Old string `json:"old"` // digests
	New string `json:"new"`
	// Environments that are only in one of the two, and those of both that differ.
	Added   []string                `json:"added,omitempty"`
	Removed []string                `json:"removed,omitempty"`
	Changed []EnvironmentDifference `json:"changed"`
	// Fetch is how many archives the newer lock names that the older does not, and
	// FetchBytes their sizes as far as the lock tells them.
	Fetch      int   `json:"fetch"`
	FetchBytes int64 `json:"fetch_bytes"`
	// UnknownSizes counts those of Fetch whose size the lock does not tell.
	UnknownSizes int `json:"unknown_sizes,omitempty"`
}

// EnvironmentDifference is how one environment of one platform changes.
type EnvironmentDifference struct {
	Environment string `json:"environment"`
	Platform    string `json:"platform"`
	// Only is "old" or "new" where the other lock has no such platform.
	Only    string   `json:"only,omitempty"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []Change `json:"changed,omitempty"`
	// Fetch, FetchBytes and UnknownSizes as in Difference, for this one alone.
	Fetch        int   `json:"fetch"`
	FetchBytes   int64 `json:"fetch_bytes"`
	UnknownSizes int   `json:"unknown_sizes,omitempty"`
}

// Change is a package that is another one.
type Change struct {
	Name string `json:"name"`
	// Old and New as version and build, or what else differs.
	Old string `json:"old"`
	New string `json:"new"`
}

// item is a package of either kind.
type item struct {
	name, text string // what people see
	key        string // what is compared: equal keys are the same archive
	size       int64
	tree       bool // a local source tree: not fetched
}

// items are the packages of a platform by name.
func items(p *lockfile.Platform) map[string]item {
	out := map[string]item{}
	if p == nil {
		return out
	}
	for _, c := range p.Conda {
		text := c.Version
		if c.Build != "" {
			text += " " + c.Build
		}
		out["conda "+c.Name] = item{c.Name, text, cmp.Or(c.SHA256, c.MD5, c.Location), c.Size, false}
	}
	if s := p.Python; s != nil {
		out["interpreter"] = item{"python", s.Version, s.SHA256, 0, false}
	}
	for _, w := range p.PyPI {
		out["pypi "+w.NormalizedName()] = item{w.Name + " (PyPI)", cmp.Or(w.Version, string(w.Kind)), cmp.Or(w.SHA256, w.Commit, w.Location), w.Size, w.Kind == lockfile.PyPIDirectory}
	}
	for _, u := range p.Unsupported {
		out["other "+u.Name] = item{u.Name, "not supported", u.Location, 0, false}
	}
	return out
}

// Compare says what newer changes against older.
func Compare(older, newer *lockfile.Lock) *Difference {
	d := &Difference{Old: older.Digest, New: newer.Digest, Changed: []EnvironmentDifference{}}
	had := archives(older)
	a, b := byName(older), byName(newer)
	fetched := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if a[name] == nil {
			d.Added = append(d.Added, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if b[name] == nil {
			d.Removed = append(d.Removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
		was, is := platforms(a[name]), platforms(b[name])
		for _, platform := range slices.Sorted(maps.Keys(merged(was, is))) {
			e := compare(was[platform], is[platform], had)
			e.Environment, e.Platform = name, platform
			switch {
			case was[platform] == nil:
				e.Only = "new"
			case is[platform] == nil:
				e.Only = "old"
			}
			if e.Only != "" || len(e.Added)+len(e.Removed)+len(e.Changed) > 0 {
				d.Changed = append(d.Changed, e)
			}
			for _, x := range items(is[platform]) {
				if had[x.key] || fetched[x.key] || x.tree {
					continue
				}
				fetched[x.key] = true
				d.Fetch++
				d.FetchBytes += x.size
				if x.size == 0 {
					d.UnknownSizes++
				}
			}
		}
	}
	return d
}

func compare(older, newer *lockfile.Platform, had map[string]bool) EnvironmentDifference {
	var e EnvironmentDifference
	a, b := items(older), items(newer)
	for _, k := range slices.Sorted(maps.Keys(merged(a, b))) {
		was, before := a[k]
		is, after := b[k]
		if after && !had[is.key] && !is.tree {
			e.Fetch++
			e.FetchBytes += is.size
			if is.size == 0 {
				e.UnknownSizes++
			}
		}
		switch {
		case !before:
			e.Added = append(e.Added, is.name+" "+is.text)
		case !after:
			e.Removed = append(e.Removed, was.name+" "+was.text)
		case was.key != is.key:
			c := Change{Name: is.name, Old: was.text, New: is.text}
			if c.Old == c.New { // built again under the same name
				c.Old, c.New = c.Old+" "+brief(was.key), c.New+" "+brief(is.key)
			}
			e.Changed = append(e.Changed, c)
		}
	}
	return e
}

// archives are the keys of all that a lock names.
func archives(l *lockfile.Lock) map[string]bool {
	out := map[string]bool{}
	for _, e := range l.Environments {
		for _, p := range e.Platforms {
			for _, x := range items(p) {
				out[x.key] = true
			}
		}
	}
	return out
}

func byName(l *lockfile.Lock) map[string]*lockfile.Environment {
	out := make(map[string]*lockfile.Environment, len(l.Environments))
	for _, e := range l.Environments {
		out[e.Name] = e
	}
	return out
}

func platforms(e *lockfile.Environment) map[string]*lockfile.Platform {
	out := map[string]*lockfile.Platform{}
	if e != nil {
		for _, p := range e.Platforms {
			out[p.Name] = p
		}
	}
	return out
}

// merged has the keys of both.
func merged[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// brief is the beginning of a digest, or all of anything else.
func brief(key string) string {
	if len(key) == 64 {
		return key[:8]
	}
	return lockfile.RedactURL(key)
}
