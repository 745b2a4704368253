package project

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Platform is one platform of a workspace. Their order in the manifest is their
// priority: the first that a machine can be is the one it is.
type Platform struct {
	// Name is what the rest of the manifest calls it, Subdir its conda subdir.
	Name, Subdir string
	// Virtual is what it asks of a machine, by virtual package: "__cuda" to "12.0".
	Virtual map[string]string
	Line    int32
}

// requirements are the keys that give a platform without a name one, in the
// order in which they do.
var requirements = [...]string{"cuda", "archspec", "glibc", "linux", "macos", "windows"}

// readPlatforms reads workspace.platforms: subdirs, or tables with a name.
func (m *manifest) readPlatforms(v *node) []Platform {
	var out []Platform
	for _, item := range m.list("platforms", v) {
		if item.Kind == tomltree.String {
			out = append(out, Platform{Name: item.Text, Subdir: item.Text, Line: item.Line})
			continue
		}
		if !m.is("a platform", item, tomltree.Table) {
			continue
		}
		p := Platform{Name: m.text("name", item.Get("name")), Subdir: m.text("platform", item.Get("platform")), Virtual: m.readVirtual(item), Line: item.Line}
		for _, e := range item.Entries {
			if strings.HasPrefix(e.Key, "__") && e.Value.Kind == tomltree.String {
				p.Virtual[e.Key] = e.Value.Text
			}
		}
		switch {
		case p.Subdir == "" && p.Name == "":
			m.failf(item.Line, "a platform has neither `name` nor `platform`")
		case p.Subdir == "":
			p.Subdir = p.Name
		case p.Name == "":
			p.Name = derivedName(p.Subdir, item)
		}
		out = append(out, p)
	}
	return out
}

// derivedName is the subdir and what the platform asks of a machine.
func derivedName(subdir string, item *node) string {
	name := subdir
	for _, key := range requirements {
		value := item.Get(key)
		if value == nil {
			continue
		}
		if value.Kind == tomltree.Table {
			value = value.Get("driver")
		}
		if value != nil && value.Kind != tomltree.Table && value.Kind != tomltree.Array {
			name += "-" + key + "-" + strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
					return r
				}
				return '-'
			}, value.Text)
		}
	}
	return name
}

// VirtualPackages is what an environment asks of the machines of a platform, by
// virtual package: what the platform says, else the greatest of the system
// requirements of its features.
func (p *Project) VirtualPackages(env string, on Platform) (map[string]string, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range features {
		for name, value := range f.system {
			if foreign(name, on.Subdir) {
				continue
			}
			if had, ok := out[name]; !ok || newer(value, had) {
				out[name] = value
			}
		}
	}
	maps.Copy(out, on.Virtual)
	return out, nil
}

// foreign: the virtual package is never on such a platform.
func foreign(name, subdir string) bool {
	system, _, _ := strings.Cut(subdir, "-")
	switch name {
	case "__glibc", "__linux":
		return system != "linux"
	case "__osx":
		return system != "osx"
	case "__win":
		return system != "win"
	}
	return false
}

// newer tells whether a version is above another; what is no version is below.
func newer(a, b string) bool {
	v, err := version.Parse(a)
	if err != nil {
		return false
	}
	w, err := version.Parse(b)
	return err != nil || v.Compare(w) > 0
}

// PlatformsOf are the platforms of an environment, in the manifest's order:
// those that all its features support.
func (p *Project) PlatformsOf(env string) ([]Platform, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	return p.platformsOf(features), nil
}

// matches tells whether a selector of [target.<selector>] holds on a platform:
// a family, a subdir, a platform's name, or a pattern of names.
func matches(selector string, p Platform) bool {
	switch selector {
	case "unix":
		return !strings.HasPrefix(p.Subdir, "win-") && p.Subdir != ""
	case "linux", "win", "osx":
		return strings.HasPrefix(p.Subdir, selector+"-")
	case "macos":
		return strings.HasPrefix(p.Subdir, "osx-")
	}
	if lockfile.KnownSubdir(selector) {
		return selector == p.Subdir
	}
	if strings.Contains(selector, "*") {
		found, err := path.Match(selector, p.Name)
		return err == nil && found
	}
	return selector == p.Name
}

// platformsOf are the names of the platforms of an environment, in the
// manifest's order: those that all its features support.
func (p *Project) platformsOf(features []*feature) []Platform {
	var exact []string // names that a feature lists
	for _, f := range features {
		exact = append(exact, f.platforms...)
	}
	exactSubdirs := map[string]bool{}
	for _, pl := range p.platforms {
		if slices.Contains(exact, pl.Name) {
			exactSubdirs[pl.Subdir] = true
		}
	}
	var out []Platform
	for _, pl := range p.platforms {
		supported := !exactSubdirs[pl.Subdir] || slices.Contains(exact, pl.Name)
		for _, f := range features {
			if f.platforms != nil && !slices.Contains(f.platforms, pl.Name) && !slices.Contains(f.platforms, pl.Subdir) {
				supported = false
			}
		}
		if supported {
			out = append(out, pl)
		}
	}
	return out
}

// linuxBySubdir picks one platform for each Linux subdir, the one whose packages
// lockfile.Environment.Platform takes: called like the subdir, else the first.
func linuxBySubdir(platforms []Platform) []Platform {
	var out []Platform
	for _, p := range platforms {
		if !lockfile.LinuxSubdir(p.Subdir) {
			continue
		}
		i := slices.IndexFunc(out, func(o Platform) bool { return o.Subdir == p.Subdir })
		switch {
		case i < 0:
			out = append(out, p)
		case p.Name == p.Subdir:
			out[i] = p
		}
	}
	return out
}
