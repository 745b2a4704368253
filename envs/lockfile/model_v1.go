package lockfile

import (
	"slices"
	"strings"
)

// The shape of version 1: a conda-lock.yml (CEP 37), which is also what the
// first pixi wrote, with some keys more. Frozen: a later version gets a file of
// its own.
//
// One flat list has an entry per package, platform and category. Entries of the
// category main are what is always installed; the other categories are added to
// it.

type v1Lock struct {
	channels, platforms []string
	packages            []v1Package
}

// v1Package is one of the two, for one platform in one category.
type v1Package struct {
	line               int
	platform, category string
	conda              *condaFields
	pypi               *PyPIPackage
}

func readV1(root *value) (*v1Lock, error) {
	d := &decoder{}
	lock := &v1Lock{}
	if meta := d.require("the lock", root, "metadata", mapping); meta != nil {
		lock.channels = readV1Channels(d, d.require("`metadata`", meta, "channels", list))
		platforms := d.require("`metadata`", meta, "platforms", list)
		lock.platforms = d.texts("platforms", platforms)
		for i, name := range lock.platforms {
			if !KnownSubdir(name) {
				d.failf(platforms.items[i].line, "`platforms` has the unknown platform %q", name)
			}
		}
	}
	if packages := d.require("the lock", root, "package", list); packages != nil {
		lock.packages = make([]v1Package, 0, len(packages.items))
		for _, v := range d.entries("package", packages) {
			lock.packages = append(lock.packages, readV1Package(d, v, lock.platforms))
		}
	}
	return lock, d.err
}

// readV1Channels takes a channel as a text, too, as old conda-locks wrote it.
func readV1Channels(d *decoder, v *value) []string {
	if v == nil {
		return nil
	}
	var out []string
	for i := range v.items {
		text := v.items[i].text
		if v.items[i].kind == mapping {
			text = d.text("url", v.items[i].get("url"))
		}
		if text == "" {
			d.failf(v.items[i].line, "a channel has no `url`")
		}
		out = append(out, RedactChannel(text))
	}
	return out
}

func readV1Package(d *decoder, entry *value, platforms []string) v1Package {
	p := v1Package{line: entry.line, category: "main"}
	for _, key := range [...]string{"name", "version", "url", "platform", "manager"} {
		d.require("a package", entry, key, scalar)
	}
	if text := d.text("category", entry.get("category")); text != "" {
		p.category = text
	}
	if v := entry.get("platform"); v != nil {
		p.platform = d.text("platform", v)
		if !slices.Contains(platforms, p.platform) {
			d.failf(v.line, "the platform %q is not among those of `metadata`", p.platform)
		}
	}
	switch manager := d.text("manager", entry.get("manager")); manager {
	case "conda":
		p.conda = readV1Conda(d, entry)
	case "pip":
		p.pypi = readV1Pypi(d, entry)
	default:
		d.failf(entry.line, "`manager` must be `conda` or `pip`, it is `%s`", manager)
	}
	return p
}

func readV1Conda(d *decoder, entry *value) *condaFields {
	c := &condaFields{}
	c.pkg.Line = entry.line
	for k, v := range entry.pairs {
		switch k.text {
		case "url":
			c.pkg.Location = d.text(k.text, v)
		case "hash":
			c.pkg.SHA256, c.pkg.MD5 = readV1Hash(d, v)
		case "dependencies":
			c.pkg.Depends = readV1Depends(d, v, " ")
		case "sha256", "md5", "depends":
			// They have other names here.
		default:
			c.read(d, k.text, v)
		}
	}
	return c
}

func readV1Pypi(d *decoder, entry *value) *PyPIPackage {
	p := &PyPIPackage{Line: entry.line}
	for k, v := range entry.pairs {
		switch k.text {
		case "name":
			p.Name = d.text(k.text, v)
		case "version":
			p.Version = d.text(k.text, v)
		case "url":
			p.Location = d.text(k.text, v)
		case "hash":
			p.SHA256, p.MD5 = readV1Hash(d, v)
		case "dependencies":
			p.RequiresDist = readV1Depends(d, v, "")
		case "requires_python":
			p.RequiresPython = d.text(k.text, v)
		case "source":
			// The user's own URL: then the package came through no index.
			p.Direct = v.kind == mapping && d.text("type", v.get("type")) == "url"
		}
	}
	return p
}

func readV1Hash(d *decoder, v *value) (sha256, md5 string) {
	if !d.is("hash", v, mapping) {
		return "", ""
	}
	return d.hex("sha256", v.get("sha256")), d.hex("md5", v.get("md5"))
}

// readV1Depends makes the specs of a mapping from names to versions; some have a
// list of specs there.
func readV1Depends(d *decoder, v *value, between string) []string {
	if v == nil || v.kind == null {
		return nil
	}
	if v.kind == list {
		return d.texts("dependencies", v)
	}
	if !d.is("dependencies", v, mapping) {
		return nil
	}
	out := make([]string, 0, len(v.items)/2)
	for name, spec := range v.pairs {
		text := name.text
		for _, part := range oneOrMore(d, name.text, spec) {
			if part = strings.TrimSpace(part); part != "" && (part != "*" || between != "") {
				text = name.text + between + part
			}
			out = append(out, text)
		}
	}
	return out
}

// oneOrMore reads a text or a list of texts; one empty text if there is none.
func oneOrMore(d *decoder, key string, v *value) []string {
	if v.kind == list && len(v.items) > 0 {
		return d.texts("dependencies."+key, v)
	}
	return []string{d.text("dependencies."+key, v)}
}
