package satisfy

import (
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// platformCheck is one environment on one platform.
type platformCheck struct {
	*checker
	env    *lockfile.Environment
	on     project.Platform
	locked *lockfile.Platform
	// conda packages by lower-case name; built are names of packages that are
	// built from sources.
	conda map[string]*lockfile.CondaPackage
	built map[string]bool
	// reached conda packages, by name.
	reached map[string]bool
	python  pythonSide
	// found: something is wrong here.
	found bool
}

// here adds a reason that holds on this platform.
func (c *platformCheck) here(line int32, format string, args ...any) {
	c.found = true
	c.addAt(c.env.Name+" on "+c.on.Name, line, format, args...)
}

// packages compares what is asked for with what is locked; locked is nil where
// the lock does not have the platform.
func (c *checker) packages(env *lockfile.Environment, on project.Platform, locked *lockfile.Platform) error {
	conda, err := c.p.Conda(env.Name, on)
	if err != nil {
		return err
	}
	python, err := c.p.Python(env.Name, on)
	if err != nil {
		return err
	}
	if locked == nil {
		if must(conda, python) {
			c.add(on.Line, "environment %s is not locked for the platform %s, which the manifest has", env.Name, on.Name)
		}
		return nil
	}
	pc := &platformCheck{checker: c, env: env, on: on, locked: locked,
		conda: map[string]*lockfile.CondaPackage{}, built: map[string]bool{}, reached: map[string]bool{}}
	for _, p := range locked.Conda {
		pc.conda[strings.ToLower(p.Name)] = p
	}
	for _, u := range locked.Unsupported {
		if u.CondaName {
			pc.built[strings.ToLower(u.Name)] = true
		}
	}
	for _, r := range conda {
		pc.request(r)
	}
	pc.requirements(python)
	if err := pc.trees(); err != nil {
		return err
	}
	if !pc.found {
		pc.unused(conda)
	}
	return nil
}

// must tells whether anything is asked for without a condition.
func must(conda []project.CondaRequest, python []project.PythonRequest) bool {
	for _, r := range conda {
		if !r.Conditional {
			return true
		}
	}
	for _, r := range python {
		if r.Marker == nil {
			return true
		}
	}
	return false
}

// request checks one conda package of the manifest.
func (c *platformCheck) request(r project.CondaRequest) {
	p := c.conda[r.Name]
	switch {
	case c.built[r.Name]:
	case p == nil:
		if c.counts(r) {
			c.here(r.Line, "%s is asked for and not locked", r.Name)
		}
		return
	case r.Source || r.Spec == nil:
	default:
		if fits, sure := c.fits(r.Spec, p); sure && !fits {
			c.here(r.Line, "`%s` is asked for, and %s %s %s is locked", r.Spec, p.Name, p.Version, p.Build)
			return
		}
	}
	c.reach(r.Name, "")
}

// counts tells that a package is surely asked for: without a condition, or with
// one on a virtual package that the platform promises.
func (c *platformCheck) counts(r project.CondaRequest) bool {
	if !r.Conditional {
		return true
	}
	m := c.spec(r.Condition)
	if m == nil || !m.Virtual() {
		return false
	}
	v := c.version(c.on.Virtual[m.Name])
	return v != nil && m.MatchesNameless(&matchspec.Package{Version: *v})
}

// fits tells whether a package satisfies a specification; sure is false where
// the lock does not know enough.
func (c *checker) fits(m *matchspec.MatchSpec, p *lockfile.CondaPackage) (fits, sure bool) {
	v := c.version(p.Version)
	if v == nil || m.MD5 != "" && p.MD5 == "" || m.SHA256 != "" && p.SHA256 == "" || m.License != "" {
		return false, false
	}
	return m.Matches(&matchspec.Package{Name: p.Name, Version: *v, Build: p.Build, BuildNumber: p.BuildNumber, MD5: p.MD5, SHA256: p.SHA256}), true
}

// reach walks through what a locked conda package depends on. from is who needs
// it, for messages.
func (c *platformCheck) reach(name, from string) {
	if c.reached[name] {
		return
	}
	c.reached[name] = true
	p := c.conda[name]
	if p == nil {
		return
	}
	for _, text := range p.Depends {
		c.depends(p, text)
	}
	// Which extras are asked for is not followed: all that are locked count.
	for _, list := range p.ExtraDepends {
		for _, text := range list {
			if m := c.spec(text); m != nil && c.conda[m.Name] != nil {
				c.reach(m.Name, p.Name)
			}
		}
	}
}

func (c *platformCheck) depends(p *lockfile.CondaPackage, text string) {
	m := c.spec(text)
	if m == nil || m.Virtual() {
		return
	}
	dep := c.conda[m.Name]
	switch {
	case c.built[m.Name]:
	case dep == nil:
		if m.Condition == "" {
			c.here(0, "%s needs `%s`, which is not locked", p.Name, text)
		}
		return
	default:
		if fits, sure := c.fits(m, dep); sure && !fits && m.Condition == "" {
			c.here(0, "%s needs `%s`, and %s %s %s is locked", p.Name, text, dep.Name, dep.Version, dep.Build)
		}
	}
	c.reach(m.Name, p.Name)
}

// unused complains about conda packages that nothing asks for: something was
// taken out of the manifest. Where packages are built it is not known what they
// need.
func (c *platformCheck) unused(asked []project.CondaRequest) {
	if len(c.built) > 0 || len(c.locked.Unsupported) > 0 || c.python.unsure {
		return
	}
	for _, r := range asked {
		if r.Source || r.Spec == nil {
			return
		}
	}
	for _, p := range c.locked.Conda {
		if name := strings.ToLower(p.Name); !c.reached[name] && !c.python.reachedConda[name] {
			c.here(0, "%s %s is locked, and nothing asks for it", p.Name, p.Version)
			return // one is enough: the others are what it needs
		}
	}
	for _, p := range c.locked.PyPI {
		if c.python.known && !c.python.reached[p.NormalizedName()] {
			c.here(0, "the Python package %s is locked, and nothing asks for it", p.Name)
			return
		}
	}
}
