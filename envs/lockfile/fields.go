package lockfile

import "strings"

// The keys of entries and environments that mean the same in every version that
// has them. What a version has beyond them, or has not, its own model says.

// condaFields is a conda entry before what its location tells is filled in.
type condaFields struct {
	given
	pkg CondaPackage
}

// read takes one key; one that is not known is passed over, as pixi does.
func (c *condaFields) read(d *decoder, key string, v *value) {
	switch key {
	case "name":
		c.name = d.optText(key, v)
	case "version":
		c.version = d.optText(key, v)
	case "build":
		c.build = d.optText(key, v)
	case "build_number":
		c.buildNumber = d.number(key, v)
	case "subdir":
		c.subdir = d.optText(key, v)
	case "noarch":
		c.noarch = d.optText(key, v)
	case "channel":
		c.channel = d.optText(key, v)
	case "file_name":
		c.fileName = d.optText(key, v)
	case "sha256":
		c.pkg.SHA256 = d.hex(key, v)
	case "md5":
		c.pkg.MD5 = d.hex(key, v)
	case "legacy_bz2_md5":
		c.pkg.LegacyBz2MD5 = d.hex(key, v)
	case "legacy_bz2_size":
		c.pkg.LegacyBz2Size = d.size(key, v)
	case "depends":
		c.pkg.Depends = d.texts(key, v)
	case "constrains":
		c.pkg.Constrains = d.texts(key, v)
	case "features":
		c.pkg.Features = d.text(key, v)
	case "flags":
		c.pkg.Flags = d.texts(key, v)
	case "track_features":
		c.pkg.TrackFeatures = d.features(key, v)
	case "license":
		c.pkg.License = d.text(key, v)
	case "license_family":
		c.pkg.LicenseFamily = d.text(key, v)
	case "purls":
		c.pkg.Purls, c.pkg.HasPurls = d.texts(key, v), v.kind == list
	case "size":
		c.pkg.Size = d.size(key, v)
	case "timestamp":
		c.pkg.Timestamp = d.timestamp(key, v)
	case "python_site_packages_path":
		c.pkg.PythonSitePackagesPath = d.text(key, v)
	}
}

// readPypiField takes one key of a Python package.
func readPypiField(d *decoder, p *PyPIPackage, key string, v *value) {
	switch key {
	case "name":
		p.Name = d.text(key, v)
	case "version":
		p.Version = d.text(key, v)
	case "sha256":
		p.SHA256 = d.hex(key, v)
	case "md5":
		p.MD5 = d.hex(key, v)
	case "requires_dist":
		p.RequiresDist = d.texts(key, v)
	case "requires_python":
		p.RequiresPython = d.text(key, v)
	}
}

// sources is where an environment's packages were looked for.
type sources struct{ channels, indexes, findLinks []string }

// readSources reads them without trailing slashes (of channels and indexes) and
// without credentials.
func readSources(d *decoder, owner string, env *value) sources {
	s := sources{channels: readChannels(d, owner, env.get("channels"))}
	if v := env.get("channels"); v == nil || v.kind == null {
		d.failf(env.line, "%s has no `channels`", owner)
	}
	for _, url := range d.texts("indexes", env.get("indexes")) {
		s.indexes = append(s.indexes, strings.TrimRight(RedactURL(url), "/"))
	}
	for _, link := range d.entries("find-links", env.get("find-links")) {
		at := d.text("path", link.get("path"))
		if url := d.text("url", link.get("url")); url != "" {
			at = RedactURL(url)
		}
		if at == "" {
			d.failf(link.line, "a place of `find-links` has neither `path` nor `url`")
		}
		s.findLinks = append(s.findLinks, at)
	}
	return s
}

func readChannels(d *decoder, owner string, v *value) []string {
	var channels []string
	for _, channel := range d.entries("channels", v) {
		url := d.text("url", channel.get("url"))
		if url == "" {
			d.failf(channel.line, "a channel of %s has no `url`", owner)
		}
		channels = append(channels, RedactChannel(url))
	}
	return channels
}

func (s sources) environment(name string) *Environment {
	return &Environment{Name: name, Channels: s.channels, Indexes: s.indexes, FindLinks: s.findLinks}
}
