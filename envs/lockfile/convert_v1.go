package lockfile

import (
	"fmt"
	"slices"
	"strings"
)

// mainCategory is the category of what is always installed. It makes the
// environment `default`; every other category makes an environment of its name
// that has main's packages and its own.
const mainCategory = "main"

func (m *v1Lock) convert(lock *Lock) error {
	categories := []string{mainCategory}
	entries := make([]*entry, len(m.packages))
	for i := range m.packages {
		p := &m.packages[i]
		e, err := p.convert()
		if err != nil {
			return err
		}
		entries[i] = e
		if !slices.Contains(categories, p.category) {
			categories = append(categories, p.category)
			if err := checkEnvironmentName(p.line, p.category); err != nil {
				return err
			}
			if p.category == "default" {
				return fmt.Errorf("%w: line %d: the category `default` could not be told from `%s`, which makes the environment of this name", ErrLock, p.line, mainCategory)
			}
		}
	}
	if err := m.checkTwice(); err != nil {
		return err
	}
	for _, category := range categories {
		env := &Environment{Name: category, Channels: m.channels}
		if category == mainCategory {
			env.Name = "default"
		}
		for _, platform := range m.platforms {
			var chosen []*entry
			for i := range m.packages {
				if p := &m.packages[i]; p.platform == platform && (p.category == mainCategory || p.category == category) {
					chosen = append(chosen, entries[i])
				}
			}
			chosen, err := onceEach(chosen)
			if err != nil {
				return err
			}
			env.add(platformOf(platform, platform, nil, chosen))
		}
		lock.Environments = append(lock.Environments, env)
	}
	lock.finish()
	return nil
}

// checkTwice refuses two entries for one package in one category of one platform, of
// which one would be as good as not there: conda-lock repeats a package for each
// category that it is in, and no more.
func (m *v1Lock) checkTwice() error {
	type place struct{ platform, category, manager, name string }
	seen := make(map[place]int, len(m.packages))
	for i := range m.packages {
		p := &m.packages[i]
		at := place{platform: p.platform, category: p.category}
		if p.pypi != nil {
			at.manager, at.name = "pip", p.pypi.NormalizedName()
		} else {
			at.name = strings.ToLower(p.conda.pkg.Name)
		}
		if first, twice := seen[at]; twice {
			return fmt.Errorf("%w: line %d: the package %s is there already for %s in the category %s, in line %d", ErrLock, p.line, at.name, p.platform, p.category, first)
		}
		seen[at] = p.line
	}
	return nil
}

func (p *v1Package) convert() (*entry, error) {
	if p.pypi != nil {
		return pypiEntry(p.pypi, true)
	}
	return archiveEntry("url", p.conda.given, &p.conda.pkg)
}

// onceEach drops what a platform has in two categories.
func onceEach(entries []*entry) ([]*entry, error) {
	seen := make(map[string]*entry, len(entries))
	var out []*entry
	for _, e := range entries {
		_, location := e.at()
		first := seen[location]
		switch {
		case first == nil:
			seen[location] = e
			out = append(out, e)
		case e.contradicts(first):
			return nil, contradiction(e, first)
		}
	}
	return out, nil
}
