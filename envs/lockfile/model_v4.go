package lockfile

// The shape of version 4. Frozen: a later version gets a file of its own.
//
// An entry says its kind, carries its location under `url` or `path`, and is
// referred to by it. One conda archive may have several entries, one per
// platform that uses it.

type v4Lock struct {
	environments []v4Environment
	packages     []v4Package
}

type v4Environment struct {
	line      int
	name      string
	sources   sources
	platforms []v4Platform
}

type v4Platform struct {
	subdir string
	refs   []v4Ref
}

type v4Ref struct {
	line        int
	conda, pypi string
}

// v4Package is one of the two.
type v4Package struct {
	conda *condaFields
	pypi  *PyPIPackage
}

func readV4(root *value) (*v4Lock, error) {
	d := &decoder{}
	return readV4With(d, root, func(owner string, env *value) sources {
		s := readSources(d, owner, env)
		return sources{channels: s.channels} // the others came with version 5
	})
}

// readV4With reads what versions 4 and 5 have in common.
func readV4With(d *decoder, root *value, from func(owner string, env *value) sources) (*v4Lock, error) {
	if v := root.get("platforms"); v != nil {
		d.failf(v.line, "`platforms` came with version 7, this is an older one")
	}
	lock := &v4Lock{}
	if envs := d.require("the lock", root, "environments", mapping); envs != nil {
		for key, v := range envs.pairs {
			lock.environments = append(lock.environments, readV4Environment(d, key, v, from))
		}
	}
	if list := d.require("the lock", root, "packages", list); list != nil {
		lock.packages = make([]v4Package, 0, len(list.items))
		for _, v := range d.entries("packages", list) {
			lock.packages = append(lock.packages, readV4Package(d, v))
		}
	}
	return lock, d.err
}

func readV4Environment(d *decoder, key, v *value, from func(owner string, env *value) sources) v4Environment {
	owner := "environment `" + key.text + "`"
	env := v4Environment{line: key.line, name: key.text}
	if !d.is("environments."+key.text, v, mapping) {
		d.failf(key.line, "%s is empty", owner)
		return env
	}
	env.sources = from(owner, v)
	platforms := d.require(owner, v, "packages", mapping)
	if platforms == nil {
		return env
	}
	for name, val := range platforms.pairs {
		p := v4Platform{subdir: name.text}
		if !KnownSubdir(name.text) {
			d.failf(name.line, "%s uses the unknown platform %q", owner, name.text)
		}
		for _, ref := range d.entries(name.text, val) {
			r := v4Ref{line: ref.line, conda: d.text("conda", ref.get("conda")), pypi: d.text("pypi", ref.get("pypi"))}
			if r.conda == "" && r.pypi == "" {
				d.failf(ref.line, "a reference has neither `conda` nor `pypi`")
			}
			p.refs = append(p.refs, r)
		}
		env.platforms = append(env.platforms, p)
	}
	return env
}

func readV4Package(d *decoder, entry *value) v4Package {
	kind := d.require("a package", entry, "kind", scalar)
	switch {
	case kind == nil:
	case kind.text == "conda":
		return v4Package{conda: readV4Conda(d, entry)}
	case kind.text == "pypi":
		return v4Package{pypi: readV4Pypi(d, entry)}
	default:
		d.failf(kind.line, "`kind` must be `conda` or `pypi`, it is `%s`", kind.text)
	}
	return v4Package{}
}

func readV4Conda(d *decoder, entry *value) *condaFields {
	c := &condaFields{}
	c.pkg.Line = entry.line
	for k, v := range entry.pairs {
		if k.text == "url" {
			c.pkg.Location = d.text(k.text, v)
		} else {
			c.read(d, k.text, v)
		}
	}
	if at := d.require("a conda package", entry, "url", scalar); at != nil && !isURL(at.text) {
		d.failf(at.line, "`url` must be a URL, it is `%s`", at.text)
	}
	return c
}

func readV4Pypi(d *decoder, entry *value) *PyPIPackage {
	p := &PyPIPackage{Line: entry.line}
	for k, v := range entry.pairs {
		switch k.text {
		case "url", "path":
			text := d.text(k.text, v)
			if text != "" && p.Location != "" {
				d.failf(v.line, "a Python package has both `url` and `path`")
			}
			if text != "" {
				p.Location = text
			}
		case "editable":
			p.Editable = d.flag(k.text, v)
		default:
			readPypiField(d, p, k.text, v)
		}
	}
	if p.Location == "" {
		d.failf(entry.line, "a Python package has neither `url` nor `path`")
	}
	if p.Name == "" {
		d.failf(entry.line, "the entry %s has no `name`", RedactURL(p.Location))
	}
	return p
}
