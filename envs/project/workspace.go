package project

import (
	"slices"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Channel is one channel of a manifest.
type Channel struct {
	// Name as written: a name, a URL or a path.
	Name string
	// Priority orders channels, the greater first; 0 unless the manifest says.
	Priority int64
	Line     int32
}

// readChannels is not nil for a list that is there.
func (m *manifest) readChannels(v *node) []Channel {
	if v == nil {
		return nil
	}
	out := []Channel{}
	for _, item := range m.list("channels", v) {
		c := Channel{Line: item.Line}
		if item.Kind == tomltree.String {
			c.Name = item.Text
		} else if m.is("a channel", item, tomltree.Table) {
			c.Name = m.text("channel", item.Get("channel"))
			if n := item.Get("priority"); m.is("priority", n, tomltree.Integer) {
				c.Priority, _ = n.Int()
			}
		}
		out = append(out, c)
	}
	return out
}

// pypiOptions are [pypi-options].
type pypiOptions struct {
	indexURL string
	line     int32
	// extra: the manifest names more places that packages come from.
	extra bool
	// overrides are names, normalized, of which the manifest replaces what other
	// packages require.
	overrides []string
}

func (o *pypiOptions) join(more pypiOptions) {
	if o.indexURL == "" {
		o.indexURL, o.line = more.indexURL, more.line
	}
	o.extra = o.extra || more.extra
	o.overrides = append(o.overrides, more.overrides...)
}

func (m *manifest) readPyPIOptions(v *node) pypiOptions {
	var o pypiOptions
	if !m.is("pypi-options", v, tomltree.Table) {
		return o
	}
	if url := v.Get("index-url"); url != nil {
		o.indexURL, o.line = m.text("index-url", url), url.Line
	}
	o.extra = v.Get("extra-index-urls") != nil || v.Get("find-links") != nil
	for _, e := range m.entries("dependency-overrides", v.Get("dependency-overrides")) {
		o.overrides = append(o.overrides, normalize(e.Key))
	}
	return o
}

// virtual are the virtual packages behind keys of platforms and of system
// requirements.
var virtual = map[string]string{
	"cuda": "__cuda", "archspec": "__archspec", "glibc": "__glibc", "libc": "__glibc",
	"linux": "__linux", "macos": "__osx", "windows": "__win",
}

// readVirtual reads such keys of a table; other keys are passed over.
func (m *manifest) readVirtual(v *node) map[string]string {
	out := map[string]string{}
	for _, e := range v.Entries {
		name, value := virtual[e.Key], e.Value
		if name == "" {
			continue
		}
		if value.Kind == tomltree.Table {
			switch e.Key {
			case "libc":
				if family := value.Get("family"); family != nil && family.Text != "glibc" {
					continue // musl: no Linux platform that anything is locked for
				}
				value = value.Get("version")
			case "cuda":
				if arch := value.Get("arch"); arch != nil {
					out["__cuda_arch"] = arch.Text
				}
				value = value.Get("driver")
			}
		}
		switch {
		case value == nil:
		case value.Kind == tomltree.String || value.Kind == tomltree.Float || value.Kind == tomltree.Integer:
			out[name] = value.Text
		default:
			m.failf(value.Line, "`%s` must be a version, it is %s", e.Key, value.Kind)
		}
	}
	return out
}

func (m *manifest) readSystem(v *node) map[string]string {
	if !m.is("system-requirements", v, tomltree.Table) {
		return nil
	}
	return m.readVirtual(v)
}

// Channels are those of an environment, the strongest first, as its features
// have them; a feature without channels has the workspace's. settled tells that
// their order is beyond doubt: no feature has channels of its own, and the
// environment is solved alone.
func (p *Project) Channels(env string) (channels []Channel, settled bool, err error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, false, err
	}
	settled = true
	if group := p.environments[env].solveGroup; group != "" {
		for _, name := range p.Environments() {
			if name == env || p.environments[name].solveGroup != group {
				continue
			}
			more, err := p.featuresOf(name)
			if err != nil {
				return nil, false, err
			}
			features = append(features, more...)
		}
	}
	for _, f := range features {
		list := f.channels
		switch {
		case list != nil:
			settled = false
		case !f.inline:
			list = p.channels
		}
		for _, c := range list {
			if !slices.ContainsFunc(channels, func(o Channel) bool { return o.Name == c.Name }) {
				channels = append(channels, c)
			}
		}
	}
	slices.SortStableFunc(channels, func(a, b Channel) int { return int(max(-1, min(1, b.Priority-a.Priority))) })
	return channels, settled, nil
}

// SolveGroup of an environment; "" = it is solved alone.
func (p *Project) SolveGroup(env string) string {
	if e := p.environments[env]; e != nil {
		return e.solveGroup
	}
	return ""
}
