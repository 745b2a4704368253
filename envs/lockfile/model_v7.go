package lockfile

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// The shape of version 7. Frozen: a later version gets a file of its own.
//
// Platforms are declared with a name of their own, source packages have a key
// of their own, run_exports are kept, and a reference repeats an entry's key
// letter by letter.

type v7Lock struct {
	platforms    []v7Platform
	environments []v7Environment
	packages     []v7Package
}

type v7Platform struct {
	line            int
	name, subdir    string
	virtualPackages []string
}

type v7Environment struct {
	line    int
	name    string
	sources sources
	uses    []v7Use
}

// v7Use is what an environment has for one of the declared platforms.
type v7Use struct {
	line     int
	platform string
	refs     []v7Ref
}

// v7Ref is a key of a package: one of conda, conda_source and pypi, and the
// text behind it.
type v7Ref struct {
	line          int
	key, location string
}

type v7Package struct {
	v7Ref
	conda *condaFields // of key conda
	pypi  *PyPIPackage // of key pypi
	name  string       // of key conda_source
	// entry is the whole of it.
	entry *value
	// needs are the packages that building this one takes.
	needs []v7Ref
}

func readV7(root *value) (*v7Lock, error) {
	d := &decoder{}
	lock := &v7Lock{platforms: readV7Platforms(d, root)}
	known := make(map[string]bool, len(lock.platforms))
	for _, p := range lock.platforms {
		known[p.name] = true
	}
	if envs := d.require("the lock", root, "environments", mapping); envs != nil {
		for key, v := range envs.pairs {
			lock.environments = append(lock.environments, readV7Environment(d, key, v, known))
		}
	}
	if list := d.require("the lock", root, "packages", list); list != nil {
		lock.packages = make([]v7Package, 0, len(list.items))
		for _, v := range d.entries("packages", list) {
			lock.packages = append(lock.packages, readV7Package(d, v))
		}
	}
	return lock, d.err
}

func readV7Platforms(d *decoder, root *value) []v7Platform {
	var out []v7Platform
	seen := make(map[string]int)
	for _, v := range d.entries("platforms", root.get("platforms")) {
		p := v7Platform{line: v.line}
		for k, x := range v.pairs {
			switch k.text {
			case "name":
				p.name = d.text(k.text, x)
			case "subdir":
				p.subdir = d.text(k.text, x)
			case "virtual-packages":
				p.virtualPackages = d.texts(k.text, x)
			}
		}
		if !validPlatformName(p.name) {
			d.failf(v.line, "%q is no name for a platform: letters, digits, `_` and `-` are", p.name)
		}
		if first := seen[p.name]; first != 0 {
			d.failf(v.line, "the platform %q is declared already, in line %d", p.name, first)
		}
		seen[p.name] = v.line
		if p.subdir == "" {
			p.subdir = p.name
		}
		if !KnownSubdir(p.subdir) {
			d.failf(v.line, "the platform %q has the unknown subdir %q", p.name, p.subdir)
		}
		out = append(out, p)
	}
	return out
}

func validPlatformName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && r != '-'
	}) < 0
}

func readV7Environment(d *decoder, key, v *value, known map[string]bool) v7Environment {
	owner := "environment `" + key.text + "`"
	env := v7Environment{line: key.line, name: key.text}
	if !d.is("environments."+key.text, v, mapping) {
		d.failf(key.line, "%s is empty", owner)
		return env
	}
	env.sources = readSources(d, owner, v)
	platforms := d.require(owner, v, "packages", mapping)
	if platforms == nil {
		return env
	}
	for name, val := range platforms.pairs {
		if !known[name.text] {
			d.failf(name.line, "%s uses the platform %q, which `platforms` does not declare", owner, name.text)
		}
		env.uses = append(env.uses, v7Use{line: name.line, platform: name.text, refs: readV7Refs(d, name.text, val)})
	}
	return env
}

func readV7Refs(d *decoder, key string, v *value) []v7Ref {
	entries := d.entries(key, v)
	refs := make([]v7Ref, 0, len(entries))
	for _, entry := range entries {
		refs = append(refs, readV7Ref(d, entry))
	}
	return refs
}

func readV7Ref(d *decoder, v *value) v7Ref {
	for _, key := range [...]string{"conda", "conda_source", "pypi"} {
		if text := d.text(key, v.get(key)); text != "" {
			return v7Ref{line: v.line, key: key, location: text}
		}
	}
	d.failf(v.line, "an entry has none of `conda`, `conda_source` and `pypi`")
	return v7Ref{line: v.line}
}

// v7Source is the key of a source package: name, a hash, and where it lies.
var v7Source = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)\[([0-9a-fA-F]{8})\] @ (.+)$`) })

func readV7Package(d *decoder, v *value) v7Package {
	p := v7Package{v7Ref: readV7Ref(d, v), entry: v}
	switch p.key {
	case "conda":
		p.conda = readV7Conda(d, v)
		return p
	case "conda_source":
		parts := v7Source().FindStringSubmatch(p.location)
		if parts == nil {
			d.failf(v.line, "`conda_source` must be `name[8 hex digits] @ location`, it is `%s`", p.location)
			return p
		}
		p.name = parts[1]
	}
	build := readV7Refs(d, "build_packages", v.get("build_packages"))
	host := readV7Refs(d, "host_packages", v.get("host_packages"))
	p.needs = append(build, host...)
	if p.key == "pypi" {
		p.pypi = readV7Pypi(d, v)
		p.name = p.pypi.Name
		p.pypi.BuildPackages, p.pypi.HostPackages = locations(build), locations(host)
	}
	return p
}

func locations(refs []v7Ref) []string {
	var out []string
	for _, ref := range refs {
		out = append(out, ref.location)
	}
	return out
}

func readV7Conda(d *decoder, entry *value) *condaFields {
	c := &condaFields{}
	c.pkg.Line = entry.line
	for k, v := range entry.pairs {
		switch k.text {
		case "conda":
			c.pkg.Location = v.text
		case "extra_depends":
			c.pkg.ExtraDepends = d.textsByName(k.text, v)
		case "run_exports":
			c.pkg.RunExports = runExports(d, k.text, v)
		default:
			c.read(d, k.text, v)
		}
	}
	return c
}

func readV7Pypi(d *decoder, entry *value) *PyPIPackage {
	p := &PyPIPackage{Line: entry.line}
	for k, v := range entry.pairs {
		switch k.text {
		case "pypi":
			p.Location = v.text
		case "index":
			p.Index = strings.TrimRight(RedactURL(d.text(k.text, v)), "/")
		default:
			readPypiField(d, p, k.text, v)
		}
	}
	if p.Name == "" {
		d.failf(entry.line, "the entry %s has no `name`", RedactURL(p.Location))
	}
	return p
}
