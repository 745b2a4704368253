package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// LockDump is everything that a lock says, as rattler and hpcenv both can tell
// it.
type LockDump struct {
	Environments []EnvironmentDump `json:"environments"`
}

// EnvironmentDump is an environment of a LockDump.
type EnvironmentDump struct {
	Name      string         `json:"name"`
	Channels  []string       `json:"channels"`
	Platforms []PlatformDump `json:"platforms"`
}

// PlatformDump is a platform of an EnvironmentDump.
type PlatformDump struct {
	Name     string        `json:"name"`
	Subdir   string        `json:"subdir"`
	Virtual  []string      `json:"virtual"`
	Packages []PackageDump `json:"packages"`
}

// PackageDump is one locked package.
type PackageDump struct {
	// Kind is conda, source (a conda package to be built) or pypi.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Location string `json:"location"`
	SHA256   string `json:"sha256"`
	MD5      string `json:"md5"`
	// Of Python packages.
	Version        string   `json:"version"`
	RequiresDist   []string `json:"requires_dist"`
	RequiresPython string   `json:"requires_python"`
	// Record of a conda package.
	Record map[string]any `json:"record"`
}

// DumpLock is what hpcenv reads.
func DumpLock(lock *lockfile.Lock) (*LockDump, error) {
	dump := &LockDump{}
	for _, env := range lock.Environments {
		e := EnvironmentDump{Name: env.Name, Channels: env.Channels}
		for _, p := range slices.Concat(env.Platforms, env.Others) {
			out := PlatformDump{Name: p.Name, Subdir: p.Subdir, Virtual: p.VirtualPackages}
			for _, pkg := range p.Conda {
				d := PackageDump{Kind: "conda", Name: pkg.Name, Location: pkg.Location, SHA256: pkg.SHA256, MD5: pkg.MD5}
				if err := json.Unmarshal(pkg.Record(), &d.Record); err != nil {
					return nil, fmt.Errorf("the record of %s: %w", pkg.Dist(), err)
				}
				out.Packages = append(out.Packages, d)
			}
			for _, pkg := range p.PyPI {
				out.Packages = append(out.Packages, PackageDump{
					Kind: "pypi", Name: pkg.Name, Location: pkg.Location, SHA256: pkg.SHA256, MD5: pkg.MD5,
					Version: pkg.Version, RequiresDist: pkg.RequiresDist, RequiresPython: pkg.RequiresPython,
				})
			}
			for _, u := range p.Unsupported {
				// Version 7 puts the name and a hash before the location.
				_, location, found := strings.Cut(u.Location, " @ ")
				if !found {
					location = u.Location
				}
				out.Packages = append(out.Packages, PackageDump{Kind: "source", Name: u.Name, Location: location})
			}
			e.Platforms = append(e.Platforms, out)
		}
		dump.Environments = append(dump.Environments, e)
	}
	return dump, nil
}

// CompareLocks lists in what two dumps differ. Path says where: environment,
// platform and package.
func CompareLocks(rattler, hpcenv *LockDump) []Difference {
	c := &lockComparison{}
	theirs, ours := map[string]EnvironmentDump{}, map[string]EnvironmentDump{}
	for _, e := range rattler.Environments {
		theirs[e.Name] = e
	}
	for _, e := range hpcenv.Environments {
		ours[e.Name] = e
	}
	for _, name := range keysOfBoth(theirs, ours) {
		t, o := theirs[name], ours[name]
		if t.Name == o.Name {
			c.environment(t, o)
		} else {
			c.differ(name, "environment", "", t.Name, o.Name)
		}
	}
	return c.all
}

type lockComparison struct{ all []Difference }

func (c *lockComparison) differ(path, field, key string, theirs, ours any) {
	text := func(v any) string {
		if s, ok := v.(string); ok {
			return s
		}
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // it came from JSON
		}
		return string(data)
	}
	t, o := "", ""
	if theirs != nil {
		t = text(theirs)
	}
	if ours != nil {
		o = text(ours)
	}
	if t != o {
		c.all = append(c.all, Difference{Path: path, Field: field, Key: key, Rattler: t, Hpcenv: o})
	}
}

func (c *lockComparison) environment(theirs, ours EnvironmentDump) {
	c.differ(ours.Name, "channels", "", strings.Join(theirs.Channels, " "), strings.Join(ours.Channels, " "))
	t, o := map[string]PlatformDump{}, map[string]PlatformDump{}
	for _, p := range theirs.Platforms {
		t[p.Name] = p
	}
	for _, p := range ours.Platforms {
		o[p.Name] = p
	}
	for _, name := range keysOfBoth(t, o) {
		at := ours.Name + " " + name
		if t[name].Name != o[name].Name {
			c.differ(at, "platform", "", t[name].Name, o[name].Name)
			continue
		}
		c.differ(at, "subdir", "", t[name].Subdir, o[name].Subdir)
		c.differ(at, "virtual", "", strings.Join(t[name].Virtual, " "), strings.Join(o[name].Virtual, " "))
		c.packages(at, t[name].Packages, o[name].Packages)
	}
}

// packages compares by kind and location; what shares them, in turn.
func (c *lockComparison) packages(at string, theirs, ours []PackageDump) {
	index := func(list []PackageDump) map[string]PackageDump {
		out := map[string]PackageDump{}
		for _, p := range list {
			key := p.Kind + " " + p.Location
			for n := 2; ; n++ {
				if _, taken := out[key]; !taken {
					break
				}
				key = fmt.Sprintf("%s %s (%d)", p.Kind, p.Location, n)
			}
			out[key] = p
		}
		return out
	}
	t, o := index(theirs), index(ours)
	for _, key := range keysOfBoth(t, o) {
		where := at + " " + key
		a, inT := t[key]
		b, inO := o[key]
		if !inT || !inO {
			c.differ(where, "package", "", a.Name, b.Name)
			continue
		}
		c.differ(where, "name", "", a.Name, b.Name)
		c.differ(where, "sha256", "", a.SHA256, b.SHA256)
		c.differ(where, "md5", "", a.MD5, b.MD5)
		c.differ(where, "version", "", a.Version, b.Version)
		c.differ(where, "requires_python", "", a.RequiresPython, b.RequiresPython)
		c.differ(where, "requires_dist", "", strings.Join(a.RequiresDist, "\n"), strings.Join(b.RequiresDist, "\n"))
		for _, k := range keysOfBoth(a.Record, b.Record) {
			c.differ(where, "record", k, a.Record[k], b.Record[k])
		}
	}
}

func keysOfBoth[V any](a, b map[string]V) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
