package lockfile

// The shape of version 6. Frozen: a later version gets a file of its own.
//
// Everything about a package that its location tells may be left out. A conda
// entry whose location is no conda archive is a source package; several of
// them may share one location, and a reference then tells them apart by name,
// version, build or subdir.

type v6Lock struct {
	environments []v6Environment
	packages     []v6Package
}

type v6Environment struct {
	line      int
	name      string
	sources   sources
	platforms []v6Platform
}

type v6Platform struct {
	line   int
	subdir string
	refs   []v6Ref
}

type v6Ref struct {
	line                         int
	conda, pypi                  string
	name, version, build, subdir *string
}

// v6Package is one of the two.
type v6Package struct {
	conda *condaFields
	pypi  *PyPIPackage
	// entry is the whole of it.
	entry *value
}

func readV6(root *value) (*v6Lock, error) {
	d := &decoder{}
	if v := root.get("platforms"); v != nil {
		d.failf(v.line, "`platforms` came with version 7, this is version 6")
	}
	lock := &v6Lock{}
	if envs := d.require("the lock", root, "environments", mapping); envs != nil {
		for key, v := range envs.pairs {
			lock.environments = append(lock.environments, readV6Environment(d, key, v))
		}
	}
	if list := d.require("the lock", root, "packages", list); list != nil {
		lock.packages = make([]v6Package, 0, len(list.items))
		for _, v := range d.entries("packages", list) {
			lock.packages = append(lock.packages, readV6Package(d, v))
		}
	}
	return lock, d.err
}

func readV6Environment(d *decoder, key, v *value) v6Environment {
	owner := "environment `" + key.text + "`"
	env := v6Environment{line: key.line, name: key.text}
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
		p := v6Platform{line: name.line, subdir: name.text}
		if !KnownSubdir(name.text) {
			d.failf(name.line, "%s uses the unknown platform %q", owner, name.text)
		}
		for _, ref := range d.entries(name.text, val) {
			r := v6Ref{line: ref.line}
			for k, x := range ref.pairs {
				switch k.text {
				case "conda":
					r.conda = d.text(k.text, x)
				case "pypi":
					r.pypi = d.text(k.text, x)
				case "name":
					r.name = d.optText(k.text, x)
				case "version":
					r.version = d.optText(k.text, x)
				case "build":
					r.build = d.optText(k.text, x)
				case "subdir":
					r.subdir = d.optText(k.text, x)
				}
			}
			if r.conda == "" && r.pypi == "" {
				d.failf(ref.line, "a reference has neither `conda` nor `pypi`")
			}
			p.refs = append(p.refs, r)
		}
		env.platforms = append(env.platforms, p)
	}
	return env
}

func readV6Package(d *decoder, v *value) v6Package {
	p := v6Package{entry: v}
	switch {
	case d.text("conda", v.get("conda")) != "":
		p.conda = readV6Conda(d, v)
	case d.text("pypi", v.get("pypi")) != "":
		p.pypi = readV6Pypi(d, v)
	default:
		d.failf(v.line, "a package has neither `conda` nor `pypi`")
	}
	return p
}

func readV6Conda(d *decoder, entry *value) *condaFields {
	c := &condaFields{}
	c.pkg.Line = entry.line
	for k, v := range entry.pairs {
		switch k.text {
		case "conda":
			c.pkg.Location = v.text
		case "extra_depends":
			c.pkg.ExtraDepends = d.textsByName(k.text, v)
		default:
			c.read(d, k.text, v)
		}
	}
	return c
}

func readV6Pypi(d *decoder, entry *value) *PyPIPackage {
	p := &PyPIPackage{Line: entry.line}
	for k, v := range entry.pairs {
		switch k.text {
		case "pypi":
			p.Location = v.text
		case "editable":
			p.Editable = d.flag(k.text, v)
		default:
			readPypiField(d, p, k.text, v)
		}
	}
	if p.Name == "" {
		d.failf(entry.line, "the entry %s has no `name`", RedactURL(p.Location))
	}
	return p
}
