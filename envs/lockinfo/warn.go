package lockinfo

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// warnings about what one platform holds.
func warnings(p *lockfile.Platform, parts []stack.Part) []string {
	var out []string
	seen := map[string][]stack.Part{}
	for _, c := range parts {
		seen[c.Name] = append(seen[c.Name], c)
		if c.Name == "UCX" && c.Origin == stack.PyPI {
			out = append(out, c.Package+" from PyPI is built without verbs and rdmacm: over InfiniBand it falls back to TCP; next: take the conda package ucx")
		}
	}
	for _, part := range slices.Sorted(maps.Keys(seen)) {
		var conda, wheels []string
		for _, c := range seen[part] {
			if c.Origin == stack.PyPI {
				wheels = append(wheels, c.Package)
			} else {
				conda = append(conda, c.Package)
			}
		}
		if len(conda) > 0 && len(wheels) > 0 {
			out = append(out, fmt.Sprintf("%s is there twice, as %s (conda) and %s (PyPI): which one a program loads depends on the order of its imports", part, strings.Join(conda, ", "), strings.Join(wheels, ", ")))
		}
	}
	if names := unhashed(p); len(names) > 0 {
		out = append(out, fmt.Sprintf("%d entries have no sha256, so nobody can tell whether what comes is what was locked: %s; next: lock again with hashes (`pixi lock`, `conda-lock lock`, `conda list --explicit --sha256`)", len(names), few(names)))
	}
	return append(out, frozenGlobs(p)...)
}

func unhashed(p *lockfile.Platform) (names []string) {
	for _, c := range p.Conda {
		if c.SHA256 == "" {
			names = append(names, c.Name)
		}
	}
	for _, w := range p.PyPI {
		if w.SHA256 == "" && (w.Kind == lockfile.PyPIWheel || w.Kind == lockfile.PyPISdist) {
			names = append(names, w.Name)
		}
	}
	return names
}

// gpuFirst are the packages whose build strings once ended in _gpu or _cpu and
// since then have a hash or number behind it (legate and cupynumeric, from 25.05
// on): a glob that ends in _gpu keeps the old builds only.
var gpuFirst = []string{"legate", "cupynumeric"}

// frozenGlobs finds old builds of that kind, which is what such a glob leaves.
func frozenGlobs(p *lockfile.Platform) (out []string) {
	for _, c := range p.Conda {
		if !slices.Contains(gpuFirst, c.Name) {
			continue
		}
		for _, kind := range []string{"_gpu", "_cpu"} {
			if strings.HasSuffix(c.Build, kind) {
				out = append(out, fmt.Sprintf("%s %s has a build that ends in %s; newer ones go on after it, so a spec like build = \"*%s\" never matches them; next: write \"*%s*\"", c.Name, c.Version, kind, kind, kind))
			}
		}
	}
	return out
}

// dead are labels that their channel's owners replaced: what lies there gets no
// new builds and may be removed.
var dead = map[string]string{
	"legate/label/experimental":     "legate, or legate-nightly",
	"legate/label/gex-experimental": "legate/label/gex",
	"legate/label/ucc140":           "legate",
}

func deadLabels(env *lockfile.Environment) (out []string) {
	for _, c := range env.Channels {
		u, err := url.Parse(c)
		if err != nil {
			continue // reading the lock says what is wrong with it
		}
		if instead, ok := dead[strings.Trim(u.Path, "/")]; ok {
			out = append(out, fmt.Sprintf("channel %s is an old label that gets no new builds; next: use %s", c, instead))
		}
	}
	return out
}

// skew names packages that an environment has in different versions on its
// platforms.
func skew(env *lockfile.Environment) []string {
	versions := map[string]map[string][]string{} // package → version → platforms
	add := func(name, version, platform string) {
		if versions[name] == nil {
			versions[name] = map[string][]string{}
		}
		versions[name][version] = append(versions[name][version], platform)
	}
	for _, p := range env.Platforms {
		for _, c := range p.Conda {
			add(c.Name, c.Version, p.Name)
		}
		for _, w := range p.PyPI {
			add(w.NormalizedName()+" (PyPI)", w.Version, p.Name)
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		if len(versions[name]) < 2 {
			continue
		}
		var texts []string
		for _, v := range slices.Sorted(maps.Keys(versions[name])) {
			texts = append(texts, v+" on "+strings.Join(versions[name][v], ", "))
		}
		out = append(out, fmt.Sprintf("%s differs between platforms: %s", name, strings.Join(texts, "; ")))
	}
	return out
}

// few names some of a list.
func few(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
}
