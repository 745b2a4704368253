package lockfile

import (
	"strings"
)

// v6Entry is an entry with what a reference may ask of it.
type v6Entry struct {
	*entry
	name, version, build, subdir string
}

func (m *v6Lock) convert(lock *Lock) error {
	conda := make(map[string][]*v6Entry, len(m.packages))
	pypi := make(map[string]*entry)
	for i := range m.packages {
		p := &m.packages[i]
		if p.pypi != nil {
			// The name alone tells an archive from a source tree.
			e, err := pypiEntry(p.pypi, true)
			if err != nil {
				return err
			}
			if first := pypi[normalize(p.pypi.Location)]; first == nil {
				pypi[normalize(p.pypi.Location)] = e
			} else if e.contradicts(first) {
				return contradiction(e, first)
			}
			continue
		}
		e, err := p.convertConda()
		if err != nil {
			return err
		}
		key := normalize(p.conda.pkg.Location)
		for _, other := range conda[key] {
			if e.contradicts(other.entry) && e.name == other.name && e.version == other.version && e.build == other.build && e.subdir == other.subdir {
				return contradiction(e.entry, other.entry)
			}
		}
		conda[key] = append(conda[key], e)
	}
	for _, env := range m.environments {
		if err := checkEnvironmentName(env.line, env.name); err != nil {
			return err
		}
		out := env.sources.environment(env.name)
		for _, platform := range env.platforms {
			entries := make([]*entry, 0, len(platform.refs))
			for _, ref := range platform.refs {
				e := ref.find(conda, pypi)
				if e == nil {
					return missing(ref.line, env.name, platform.subdir, ref.conda+ref.pypi)
				}
				entries = append(entries, e)
			}
			out.add(platformOf(platform.subdir, platform.subdir, nil, entries))
		}
		lock.Environments = append(lock.Environments, out)
	}
	lock.finish()
	return nil
}

func (p *v6Package) convertConda() (*v6Entry, error) {
	pkg := &p.conda.pkg
	e, err := condaEntry(p.conda.given, pkg)
	if err != nil {
		return nil, err
	}
	if pkg.FileName == "" { // no conda archive
		e = sourceEntry(pkg.Location, pkg.Name, p.entry)
	}
	return &v6Entry{entry: e, name: pkg.Name, version: pkg.Version, build: pkg.Build, subdir: pkg.Subdir}, nil
}

// find returns the first entry that a reference means; nil if there is none.
func (r *v6Ref) find(conda map[string][]*v6Entry, pypi map[string]*entry) *entry {
	if r.conda == "" {
		return pypi[normalize(r.pypi)]
	}
	for _, e := range conda[normalize(r.conda)] {
		if (r.name == nil || strings.EqualFold(*r.name, e.name)) && asked(r.version, e.version) && asked(r.build, e.build) && asked(r.subdir, e.subdir) {
			return e.entry
		}
	}
	return nil
}

func asked(want *string, have string) bool { return want == nil || *want == have }
