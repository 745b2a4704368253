package lockfile

// noKind is how `noarch` says that a package is none.
var noKind = "none"

func (m *v4Lock) convert(lock *Lock) error {
	conda := make(map[string][]*entry, len(m.packages))
	pypi := make(map[string]*entry)
	for i := range m.packages {
		p := &m.packages[i]
		if p.pypi != nil {
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
		if p.conda.noarch == nil {
			p.conda.noarch = &noKind // these versions say it where there is one
		}
		e, err := archiveEntry("url", p.conda.given, &p.conda.pkg)
		if err != nil {
			return err
		}
		conda[p.conda.pkg.Location] = append(conda[p.conda.pkg.Location], e)
	}
	merged := map[v4Use]*entry{}
	for _, env := range m.environments {
		if err := checkEnvironmentName(env.line, env.name); err != nil {
			return err
		}
		out := env.sources.environment(env.name)
		for _, platform := range env.platforms {
			entries := make([]*entry, 0, len(platform.refs))
			for _, ref := range platform.refs {
				e := pypi[normalize(ref.pypi)]
				if ref.conda != "" {
					var err error
					if e, err = mergeV4(merged, v4Use{ref.conda, platform.subdir}, conda[ref.conda]); err != nil {
						return err
					}
				}
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

// v4Use is an archive on a platform.
type v4Use struct{ location, subdir string }

// mergeV4 makes one entry of those that an archive has: of those for the
// platform, else of all. The first counts; purls and hashes that it lacks are
// taken from the others.
func mergeV4(done map[v4Use]*entry, use v4Use, all []*entry) (*entry, error) {
	if len(all) < 2 {
		if len(all) == 0 {
			return nil, nil
		}
		return all[0], nil
	}
	if e := done[use]; e != nil {
		return e, nil
	}
	var fit []*entry
	for _, e := range all {
		if e.pkg.Subdir == use.subdir {
			fit = append(fit, e)
		}
	}
	if fit == nil {
		fit = all
	}
	pkg := *fit[0].pkg
	out := &entry{pkg: &pkg, unsupported: fit[0].unsupported}
	for _, e := range fit[1:] {
		if e.contradicts(out) {
			return nil, contradiction(e, out)
		}
		pkg.SHA256, pkg.MD5 = either(pkg.SHA256, e.pkg.SHA256), either(pkg.MD5, e.pkg.MD5)
		if e.pkg.HasPurls && !pkg.HasPurls {
			pkg.Purls, pkg.HasPurls = e.pkg.Purls, true
		}
	}
	done[use] = out
	return out, nil
}

func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
