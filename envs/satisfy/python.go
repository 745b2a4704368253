package satisfy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// pythonSide is what is known of Python packages on one platform.
type pythonSide struct {
	// known: markers can be evaluated, so it was looked at.
	known bool
	// unsure: something was met that cannot be judged here.
	unsure bool
	env    *marker.Environment
	locked map[string]*lockfile.PyPIPackage
	// conda packages by the Python package that they say they are.
	conda map[string]*lockfile.CondaPackage
	// silent: there are conda packages for Python that do not say which Python
	// packages they are.
	silent bool
	// namesakes are conda packages by the Python package of their name, which they do
	// not say that they are.
	namesakes map[string]*lockfile.CondaPackage
	// overridden names, of which the manifest replaces what packages require.
	overridden []string
	reached    map[string]bool
	// visited names with the extras they were visited with.
	visited map[string]bool
	// reachedConda are conda packages that stand for a required Python package.
	reachedConda map[string]bool
}

// wanted is one requirement on its way.
type wanted struct {
	name     string
	extras   []string
	versions version.Set
	known    bool
	direct   bool
	index    string
	line     int32
	// by is the package that requires it; "" = the manifest.
	by string
}

// requirements checks the Python packages of the manifest and what they need.
func (c *platformCheck) requirements(asked []project.PythonRequest) {
	s := &c.python
	if len(asked) == 0 && len(c.locked.PyPI) == 0 {
		return
	}
	if c.noneLocked(asked) {
		return
	}
	target := c.target()
	if target == nil {
		s.unsure = true
		return
	}
	indexes, err := c.p.Indexes(c.env.Name)
	if err != nil {
		return // the environment is there: it was asked about before
	}
	s.known, s.env, s.overridden = true, target, indexes.Overridden
	s.reached, s.visited, s.reachedConda = map[string]bool{}, map[string]bool{}, map[string]bool{}
	s.locked, s.conda, s.namesakes = map[string]*lockfile.PyPIPackage{}, map[string]*lockfile.CondaPackage{}, map[string]*lockfile.CondaPackage{}
	for _, p := range c.locked.PyPI {
		s.locked[p.NormalizedName()] = p
	}
	for _, p := range c.locked.Conda {
		s.silent = s.silent || !p.HasPurls && c.needsPython(p)
		s.namesakes[name.Normalize(p.Name)] = p
		for _, purl := range p.Purls {
			if n := purlName(purl); n != "" {
				s.conda[n] = p
			}
		}
	}
	for _, r := range asked {
		holds, err := r.Marker.Evaluate(s.env)
		if err != nil {
			s.unsure = true
			continue
		}
		if holds {
			c.require(wanted{name: r.Name, extras: r.Extras, versions: r.Versions, known: r.Known, direct: r.Direct, index: r.Index, line: r.Line})
		}
	}
}

// noneLocked complains where Python packages are asked for, and the lock was made
// when none were: neither has it one, nor does any conda package say whether it is
// one.
func (c *platformCheck) noneLocked(asked []project.PythonRequest) bool {
	said := func(p *lockfile.CondaPackage) bool { return p.HasPurls }
	if len(asked) == 0 || len(c.locked.PyPI)+len(c.locked.Unsupported) > 0 || slices.ContainsFunc(c.locked.Conda, said) {
		return false
	}
	c.python.unsure = true
	c.here(asked[0].Line, "the Python package %s is asked for, and the lock was made without Python packages", asked[0].Name)
	return true
}

// condaForge tells whether a package is of conda-forge, whatever the host.
func condaForge(p *lockfile.CondaPackage) bool {
	u, err := url.Parse(p.URL)
	return err == nil && strings.HasPrefix(u.Path, "/conda-forge")
}

// target describes the platform and the locked Python to markers; nil where
// that is not possible.
func (c *platformCheck) target() *marker.Environment {
	p := c.conda["python"]
	if p == nil {
		return nil
	}
	t, err := python.NewTarget(c.on.Subdir, p.Version, false, tag.Glibc{})
	if err == nil {
		return t.Environment()
	}
	if t, err = python.NewTarget("linux-64", p.Version, false, tag.Glibc{}); err != nil {
		return nil
	}
	e := t.Environment()
	system, machine, _ := strings.Cut(c.on.Subdir, "-")
	switch system {
	case "osx":
		e.SysPlatform, e.PlatformSystem = "darwin", "Darwin"
	case "win":
		e.OSName, e.SysPlatform, e.PlatformSystem = "nt", "win32", "Windows"
	default:
		return nil
	}
	e.PlatformMachine = map[string]string{"osx-64": "x86_64", "osx-arm64": "arm64", "win-64": "AMD64", "win-arm64": "ARM64"}[system+"-"+machine]
	if e.PlatformMachine == "" {
		return nil
	}
	return e
}

// needsPython tells whether a conda package depends on Python itself.
func (c *checker) needsPython(p *lockfile.CondaPackage) bool {
	return slices.ContainsFunc(p.Depends, func(text string) bool {
		m := c.spec(text)
		return m != nil && m.Name == "python"
	})
}

// purlName is the Python package that a package URL names, normalized; "" = none.
func purlName(purl string) string {
	rest, ok := strings.CutPrefix(purl, "pkg:pypi/")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "@?#"); i >= 0 {
		rest = rest[:i]
	}
	return name.Normalize(rest)
}

// require checks one requirement and walks on to what the package needs.
func (c *platformCheck) require(w wanted) {
	s := &c.python
	p, conda := s.locked[w.name], s.conda[w.name]
	switch {
	case p == nil && conda != nil:
		if w.by != "" {
			c.reachConda(conda)
		}
		c.condaVersion(w, conda)
		return
	case p == nil && s.namesakes[w.name] != nil:
		// pixi takes packages of conda-forge for what they are called, unless the lock
		// says what they are.
		if conda := s.namesakes[w.name]; condaForge(conda) && !conda.HasPurls {
			if w.by != "" {
				c.reachConda(conda)
			}
			c.condaVersion(w, conda)
		}
		s.unsure = true
		return
	case p == nil:
		if s.silent && w.by != "" {
			s.unsure = true // one of them may be it, under another name
			return
		}
		if !slices.Contains(s.overridden, w.name) {
			c.here(w.line, "the Python package %s is %s and not locked", w.name, w.asked())
		}
		return
	}
	s.reached[w.name] = true
	if len(p.RequiresDist) == 0 && p.Kind != lockfile.PyPIWheel && p.Kind != lockfile.PyPISdist {
		s.unsure = true // what a source tree needs may not be recorded
	}
	c.pythonVersion(w, p)
	c.pythonIndex(w, p)
	c.walk(p, w.extras)
}

func (w wanted) asked() string {
	if w.by != "" {
		return "needed by " + w.by
	}
	return "asked for"
}

// reachConda counts a conda package, and what it depends on, as needed.
func (c *platformCheck) reachConda(p *lockfile.CondaPackage) {
	n := strings.ToLower(p.Name)
	c.python.reachedConda[n] = true
	c.reach(n, "")
}

func (c *platformCheck) condaVersion(w wanted, p *lockfile.CondaPackage) {
	v, err := version.Parse(p.Version)
	if err != nil || w.direct || !w.known || slices.Contains(c.python.overridden, w.name) {
		return
	}
	if !w.versions.Contains(v) {
		c.here(w.line, "the Python package %s %s is %s, and the conda package %s %s is locked for it", w.name, w.versions, w.asked(), p.Name, p.Version)
	}
}

func (c *platformCheck) pythonVersion(w wanted, p *lockfile.PyPIPackage) {
	archive := p.Kind == lockfile.PyPIWheel || p.Kind == lockfile.PyPISdist
	if w.direct || !archive || slices.Contains(c.python.overridden, w.name) {
		return
	}
	if p.Version == "" {
		if w.by == "" && c.lock.Version >= 7 && !p.Local && p.Index == "" && !p.Direct {
			c.here(w.line, "the Python package %s is locked without a version", w.name)
		}
		return
	}
	v, err := version.Parse(p.Version)
	if err != nil || !w.known || w.versions.Contains(v) {
		return
	}
	c.here(w.line, "the Python package %s %s is %s, and %s is locked", w.name, w.versions, w.asked(), p.Version)
}

// pythonIndex compares the index of a package that the manifest itself asks for;
// locks up to version 6 do not say it.
func (c *platformCheck) pythonIndex(w wanted, p *lockfile.PyPIPackage) {
	if c.lock.Version < 7 || w.by != "" || w.direct || p.Local || p.Kind != lockfile.PyPIWheel && p.Kind != lockfile.PyPISdist || len(c.env.Indexes) == 0 {
		return
	}
	have := p.Index
	if have == "" {
		have = c.env.Indexes[0]
	}
	switch {
	case w.index != "":
		if !sameURL(w.index, have) {
			c.here(w.line, "the Python package %s is asked for from %s, and was locked from %s", w.name, redacted(w.index), have)
		}
	case slices.ContainsFunc(c.env.Indexes, func(i string) bool { return sameURL(i, have) }):
	case slices.ContainsFunc(c.env.FindLinks, func(i string) bool { return sameURL(i, have) }):
	default:
		c.here(w.line, "the Python package %s was locked from %s, which the manifest no longer says", w.name, have)
	}
}

// walk follows what a locked Python package requires, with these extras.
func (c *platformCheck) walk(p *lockfile.PyPIPackage, extras []string) {
	s := &c.python
	for _, extra := range append([]string{""}, extras...) {
		key := p.NormalizedName() + "[" + extra + "]"
		if s.visited[key] {
			continue
		}
		s.visited[key] = true
		env := *s.env
		if extra != "" {
			env.Extras = []string{extra}
		}
		for _, text := range p.RequiresDist {
			r, err := requirement.Parse(text)
			if err != nil {
				s.unsure = true
				continue
			}
			holds, err := r.Marker.Evaluate(&env)
			if err != nil {
				s.unsure = true
				continue
			}
			if !holds {
				continue
			}
			w := wanted{name: name.Normalize(r.Name), versions: r.Specifiers, known: true, direct: r.URL != "", by: p.Name}
			for _, e := range r.Extras {
				w.extras = append(w.extras, name.Normalize(e))
			}
			c.require(w)
		}
	}
}
