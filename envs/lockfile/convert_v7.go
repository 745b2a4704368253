package lockfile

import (
	"fmt"
	"strings"
)

// v7Key is what a reference and its package have in common.
type v7Key struct{ key, location string }

func (r *v7Ref) id() v7Key { return v7Key{r.key, r.location} }

func (m *v7Lock) convert(lock *Lock) error {
	packages := make(map[v7Key]*entry, len(m.packages))
	for i := range m.packages {
		p := &m.packages[i]
		e, err := p.convert()
		if err != nil {
			return err
		}
		if first := packages[p.id()]; first == nil {
			packages[p.id()] = e
		} else if e.contradicts(first) {
			return contradiction(e, first)
		}
	}
	var building []*entry
	for i := range m.packages {
		p := &m.packages[i]
		for _, need := range p.needs {
			e := packages[need.id()]
			if e == nil {
				return fmt.Errorf("%w: line %d: package %s, needed to build %s, is not among the lock's packages",
					ErrLock, need.line, RedactURL(need.location), p.name)
			}
			building = append(building, e)
		}
	}
	all := platformOf("", "", nil, building)
	lock.Building = Packages{Conda: all.Conda, PyPI: all.PyPI, Unsupported: all.Unsupported}
	platforms := make(map[string]*v7Platform, len(m.platforms))
	for i := range m.platforms {
		platforms[m.platforms[i].name] = &m.platforms[i]
	}
	for _, env := range m.environments {
		if err := checkEnvironmentName(env.line, env.name); err != nil {
			return err
		}
		out := env.sources.environment(env.name)
		for _, use := range env.uses {
			entries := make([]*entry, 0, len(use.refs))
			for _, ref := range use.refs {
				e := packages[ref.id()]
				if e == nil {
					return missing(ref.line, env.name, use.platform, ref.location)
				}
				entries = append(entries, e)
			}
			p := platforms[use.platform]
			out.add(platformOf(p.name, p.subdir, p.virtualPackages, entries))
		}
		lock.Environments = append(lock.Environments, out)
	}
	lock.finish()
	return nil
}

func (p *v7Package) convert() (*entry, error) {
	switch p.key {
	case "conda_source":
		return sourceEntry(p.location, p.name, p.entry), nil
	case "pypi":
		// A hash, a version or an index tells an archive from a source tree.
		return pypiEntry(p.pypi, p.pypi.SHA256 != "" || p.pypi.MD5 != "" || p.pypi.Version != "" || p.pypi.Index != "")
	}
	file := fileName(p.location)
	if strings.HasSuffix(file, ".whl") {
		name, _, _ := strings.Cut(file, "-")
		if p.conda.name != nil {
			name = *p.conda.name
		}
		return &entry{unsupported: &Unsupported{
			Location: p.location, Name: name, CondaName: true, Reason: reasonCondaWheel, Entry: p.entry.whole(), Line: p.line,
		}}, nil
	}
	return archiveEntry("conda", p.conda.given, &p.conda.pkg)
}
