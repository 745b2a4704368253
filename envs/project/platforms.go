package project

import (
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// platform is one of workspace.platforms.
type platform struct{ name, subdir string }

// requirements are the keys that give a platform without a name one, in the
// order in which they do.
var requirements = [...]string{"cuda", "archspec", "glibc", "linux", "macos", "windows"}

// readPlatforms reads workspace.platforms: subdirs, or tables with a name.
func (m *manifest) readPlatforms(v *node) []platform {
	var out []platform
	for _, item := range m.list("platforms", v) {
		if item.kind == text {
			out = append(out, platform{item.text, item.text})
			continue
		}
		if !m.is("a platform", item, table) {
			continue
		}
		p := platform{name: m.text("name", item.get("name")), subdir: m.text("platform", item.get("platform"))}
		switch {
		case p.subdir == "" && p.name == "":
			m.failf(item.line, "a platform has neither `name` nor `platform`")
		case p.subdir == "":
			p.subdir = p.name
		case p.name == "":
			p.name = derivedName(p.subdir, item)
		}
		out = append(out, p)
	}
	return out
}

// derivedName is the subdir and what the platform asks of a machine.
func derivedName(subdir string, item *node) string {
	name := subdir
	for _, key := range requirements {
		value := item.get(key)
		if value == nil {
			continue
		}
		if value.kind == table {
			value = value.get("driver")
		}
		if value != nil && value.kind != table && value.kind != array {
			name += "-" + key + "-" + strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
					return r
				}
				return '-'
			}, value.text)
		}
	}
	return name
}

// matches tells whether a selector of [target.<selector>] holds on a platform:
// a family, a subdir, a platform's name, or a pattern of names.
func matches(selector string, p platform) bool {
	switch selector {
	case "linux", "unix":
		return lockfile.LinuxSubdir(p.subdir)
	case "win", "osx", "macos":
		return false // only Linux platforms are asked about
	}
	if lockfile.KnownSubdir(selector) {
		return selector == p.subdir
	}
	if strings.Contains(selector, "*") {
		found, err := path.Match(selector, p.name)
		return err == nil && found
	}
	return selector == p.name
}

// platformsOf are the names of the platforms of an environment, in the
// manifest's order: those that all its features support.
func (p *Project) platformsOf(features []*feature) []platform {
	var exact []string // names that a feature lists
	for _, f := range features {
		exact = append(exact, f.platforms...)
	}
	exactSubdirs := map[string]bool{}
	for _, pl := range p.platforms {
		if slices.Contains(exact, pl.name) {
			exactSubdirs[pl.subdir] = true
		}
	}
	var out []platform
	for _, pl := range p.platforms {
		supported := !exactSubdirs[pl.subdir] || slices.Contains(exact, pl.name)
		for _, f := range features {
			if f.platforms != nil && !slices.Contains(f.platforms, pl.name) && !slices.Contains(f.platforms, pl.subdir) {
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
func linuxBySubdir(platforms []platform) []platform {
	var out []platform
	for _, p := range platforms {
		if !lockfile.LinuxSubdir(p.subdir) {
			continue
		}
		i := slices.IndexFunc(out, func(o platform) bool { return o.subdir == p.subdir })
		switch {
		case i < 0:
			out = append(out, p)
		case p.name == p.subdir:
			out[i] = p
		}
	}
	return out
}
