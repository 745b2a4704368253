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
	channels  []string
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

type v6Package struct {
	line  int
	conda *v6Conda
	pypi  *v6Pypi
}

type v6Conda struct {
	given
	pkg CondaPackage
}

type v6Pypi struct{ location, name, version string }

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
	env.channels = readChannels(d, owner, v)
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
	p := v6Package{line: v.line}
	switch {
	case d.text("conda", v.get("conda")) != "":
		p.conda = readV6Conda(d, v)
	case d.text("pypi", v.get("pypi")) != "":
		p.pypi = &v6Pypi{
			location: v.get("pypi").text,
			name:     d.text("name", v.get("name")),
			version:  d.text("version", v.get("version")),
		}
		if p.pypi.name == "" {
			d.failf(v.line, "the entry %s has no `name`", RedactURL(p.pypi.location))
		}
	default:
		d.failf(v.line, "a package has neither `conda` nor `pypi`")
	}
	return p
}

func readV6Conda(d *decoder, entry *value) *v6Conda {
	c := &v6Conda{}
	c.pkg.Line = entry.line
	for k, v := range entry.pairs {
		switch k.text {
		case "conda":
			c.pkg.Location = v.text
		case "name":
			c.name = d.optText(k.text, v)
		case "version":
			c.version = d.optText(k.text, v)
		case "build":
			c.build = d.optText(k.text, v)
		case "build_number":
			c.buildNumber = d.number(k.text, v)
		case "subdir":
			c.subdir = d.optText(k.text, v)
		case "noarch":
			c.noarch = d.optText(k.text, v)
		case "channel":
			c.channel = d.optText(k.text, v)
		case "file_name":
			c.fileName = d.optText(k.text, v)
		case "sha256":
			c.pkg.SHA256 = d.hex(k.text, v)
		case "md5":
			c.pkg.MD5 = d.hex(k.text, v)
		case "legacy_bz2_md5":
			c.pkg.LegacyBz2MD5 = d.hex(k.text, v)
		case "legacy_bz2_size":
			c.pkg.LegacyBz2Size = d.size(k.text, v)
		case "depends":
			c.pkg.Depends = d.texts(k.text, v)
		case "constrains":
			c.pkg.Constrains = d.texts(k.text, v)
		case "extra_depends":
			c.pkg.ExtraDepends = d.textsByName(k.text, v)
		case "features":
			c.pkg.Features = d.text(k.text, v)
		case "flags":
			c.pkg.Flags = d.texts(k.text, v)
		case "track_features":
			c.pkg.TrackFeatures = d.features(k.text, v)
		case "license":
			c.pkg.License = d.text(k.text, v)
		case "license_family":
			c.pkg.LicenseFamily = d.text(k.text, v)
		case "purls":
			c.pkg.Purls, c.pkg.HasPurls = d.texts(k.text, v), v.kind == list
		case "size":
			c.pkg.Size = d.size(k.text, v)
		case "timestamp":
			c.pkg.Timestamp = milliseconds(d.size(k.text, v))
		case "python_site_packages_path":
			c.pkg.PythonSitePackagesPath = d.text(k.text, v)
		}
	}
	return c
}
