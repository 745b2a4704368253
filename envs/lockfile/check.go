package lockfile

import (
	"fmt"
	"slices"
	"strings"
)

// ProblemsError names everything that keeps a platform of a lock from being
// installed, at once. It wraps ErrLock.
type ProblemsError struct {
	// Platform is the lock's name of it.
	Platform string
	// Problems, one sentence each, in the lock's order.
	Problems []string
	// Next are steps that some of them need, each once; may be empty.
	Next []string
}

func (e *ProblemsError) Error() string {
	text := fmt.Sprintf("%s: platform %s: ", ErrLock, e.Platform)
	if len(e.Problems) == 1 {
		text += e.Problems[0]
	} else { // a line each, or nobody finds them
		text += fmt.Sprintf("%d reasons:\n  ", len(e.Problems)) + strings.Join(e.Problems, "\n  ")
	}
	for _, step := range e.Next {
		text += "; next: " + step
	}
	return text
}

func (e *ProblemsError) Unwrap() error { return ErrLock }

func (p *Platform) problems(list []string, next ...string) error {
	if len(list) == 0 {
		return nil
	}
	return &ProblemsError{Platform: p.Name, Problems: list, Next: next}
}

// Check looks whether the packages of a platform fit together: one record per
// conda name and one package per Python name, conda dependencies satisfied by
// name, each record for this platform or noarch, python there where packages for
// any python are, hashes well formed. The error is a *ProblemsError that names
// all of what is wrong.
func (p *Platform) Check() error { return p.problems(p.inconsistencies()) }

// Supported says whether all entries can be installed; the error is a
// *ProblemsError that names all that cannot, and why.
func (p *Platform) Supported() error { return p.problems(p.unsupported()) }

// Validate is what must hold before a platform is installed: Check, Supported,
// and a sha256 for every package, since that is a package's identity. The error
// is a *ProblemsError that names everything.
func (p *Platform) Validate() error {
	list := append(p.unsupported(), p.inconsistencies()...)
	var md5, nothing, wheels, files unhashed
	for _, pkg := range p.Conda {
		switch {
		case pkg.SHA256 != "":
		case pkg.MD5 != "":
			md5.add(pkg.Dist(), pkg.Line)
		default:
			nothing.add(pkg.Dist(), pkg.Line)
		}
	}
	for _, pkg := range p.PyPI {
		switch {
		case pkg.Kind != PyPIWheel || pkg.SHA256 != "":
		case pkg.Local:
			files.add(pkg.FileName, pkg.Line)
		default:
			wheels.add(pkg.FileName, pkg.Line)
		}
	}
	var next []string
	if len(list) > 0 && len(md5)+len(nothing)+len(wheels)+len(files) > 0 {
		next = append(next, "take out of the environment what cannot be installed")
	}
	list = append(list, md5.problem("an md5 but no sha256")...)
	list = append(list, nothing.problem("no sha256")...)
	list = append(list, wheels.problem("no sha256, so what comes could not be checked")...)
	list = append(list, files.problem("no sha256, as local files of an index have none")...)
	if len(md5)+len(nothing) > 0 {
		next = append(next, rehash)
	}
	if len(wheels) > 0 {
		next = append(next, rehashWheels)
	}
	if len(files) > 0 {
		next = append(next, rehashFiles)
	}
	return p.problems(list, next...)
}

// How sha256 hashes come into a lock, by the tool that wrote it.
const (
	rehash       = "write the lock anew with hashes (`pixi lock`, `conda-lock lock` or `conda list --explicit --sha256`), from a channel that publishes them"
	rehashWheels = "write the lock anew (`pixi lock`, `conda-lock lock`) from an index that publishes the hashes of its wheels"
	rehashFiles  = "name the wheel itself in the manifest (`[tool.uv.sources]`, `[pypi-dependencies]`: name = { path = \"…whl\" }), not the directory that it lies in: the lock gets its hash then"
)

// unhashed are packages without a sha256, each with its line.
type unhashed []string

func (u *unhashed) add(name string, line int) {
	*u = append(*u, fmt.Sprintf("%s (line %d)", name, line))
}

// namedUnhashed is how many are named: a list without hashes has none for anything.
const namedUnhashed = 10

// problem says of all of them at once what they have; nil if there are none.
func (u unhashed) problem(have string) []string {
	switch n := len(u); {
	case n == 0:
		return nil
	case n == 1:
		return []string{u[0] + " has " + have}
	case n > namedUnhashed:
		return []string{fmt.Sprintf("%d packages have %s: %s and %d more", n, have, strings.Join(u[:namedUnhashed], ", "), n-namedUnhashed)}
	default:
		return []string{fmt.Sprintf("%d packages have %s: %s", n, have, strings.Join(u, ", "))}
	}
}

// Dist is name-version-build, as messages call a package.
func (c *CondaPackage) Dist() string { return c.Name + "-" + c.Version + "-" + c.Build }

func (p *Platform) unsupported() []string {
	var list []string
	for _, u := range p.Unsupported {
		list = append(list, fmt.Sprintf("%s (%s, line %d) is %s", u.Name, RedactURL(u.Location), u.Line, u.Reason))
	}
	return append(list, p.pythonPackages()...)
}

// pythonPackages names the Python packages that would have to be built. Local
// source trees are none of its business: they are SourceTrees.
func (p *Platform) pythonPackages() []string {
	var list []string
	for _, pkg := range p.Installed() {
		is := "a commit of a git repository, which would have to be built; to do: name a wheel of it by its path (`uv build --wheel`), or a clone of it beside the project as `{path = \"…\", editable = true}`"
		switch pkg.Kind {
		case PyPIWheel:
			continue
		case PyPISdist:
			is = "a Python source archive, which would have to be built; to do: lock it with a wheel, from an index that has one or one of your own by its path (`uv build --wheel`)"
		}
		list = append(list, fmt.Sprintf("%s (%s, line %d) is %s", pkg.Name, RedactURL(pkg.Location), pkg.Line, is))
	}
	return list
}

func (p *Platform) inconsistencies() []string {
	var list []string
	have := make(map[string]*CondaPackage, len(p.Conda))
	for _, pkg := range p.Conda {
		key := strings.ToLower(pkg.Name)
		if first := have[key]; first != nil {
			list = append(list, fmt.Sprintf("%s and %s (lines %d and %d) are one package twice", first.Dist(), pkg.Dist(), first.Line, pkg.Line))
		}
		have[key] = pkg
	}
	provided := func(name string) bool {
		if have[name] != nil || name == "python" && p.Python != nil {
			return true
		}
		return slices.ContainsFunc(p.Unsupported, func(u Unsupported) bool { return u.CondaName && strings.ToLower(u.Name) == name })
	}
	if s := p.Python; s != nil {
		if c := have["python"]; c != nil {
			list = append(list, fmt.Sprintf("%s (line %d) and %s are two Pythons", c.Dist(), c.Line, s.Dist()))
		}
		if s.Subdir != p.Subdir {
			list = append(list, fmt.Sprintf("%s is built for %s", s.Dist(), s.Subdir))
		}
	}
	var noarchPython []string
	for _, pkg := range p.Conda {
		if pkg.Subdir != p.Subdir && pkg.Subdir != "noarch" {
			list = append(list, fmt.Sprintf("%s (line %d) is built for %s", pkg.Dist(), pkg.Line, pkg.Subdir))
		}
		if pkg.Noarch == "python" {
			noarchPython = append(noarchPython, pkg.Dist())
		}
		for _, depend := range pkg.Depends {
			if name := requiredName(depend); name != "" && !provided(name) {
				list = append(list, fmt.Sprintf("%s (line %d) needs %s, which is not there", pkg.Dist(), pkg.Line, name))
			}
		}
		list = append(list, badHashes(pkg.Dist(), pkg.Line, pkg.SHA256, pkg.MD5)...)
	}
	byName := make(map[string]*PyPIPackage, len(p.PyPI))
	for _, pkg := range p.PyPI {
		key := pkg.NormalizedName()
		if first := byName[key]; first != nil {
			list = append(list, fmt.Sprintf("%s and %s (lines %d and %d) are one Python package twice", first.Name, pkg.Name, first.Line, pkg.Line))
		}
		byName[key] = pkg
		list = append(list, badHashes(pkg.Name, pkg.Line, pkg.SHA256, pkg.MD5)...)
	}
	if len(noarchPython) > 0 && !provided("python") {
		list = append(list, "python is not there, but packages for any python are: "+strings.Join(noarchPython, ", "))
	}
	if len(p.PyPI) > 0 && !provided("python") {
		names := make([]string, len(p.PyPI))
		for i, pkg := range p.PyPI {
			names[i] = pkg.Name
		}
		list = append(list, "python is not there, but Python packages are: "+strings.Join(names, ", "))
	}
	return list
}

// requiredName is the name, in lower case, of what a dependency needs; "" for
// a virtual package and for a dependency that holds under a condition only.
func requiredName(spec string) string {
	spec = strings.TrimSpace(spec)
	if i := strings.LastIndex(spec, "::"); i >= 0 {
		spec = spec[i+2:]
	}
	end := strings.IndexAny(spec, " \t=<>!~[;,@")
	name, rest := spec, ""
	if end >= 0 {
		name, rest = spec[:end], spec[end:]
	}
	if strings.HasPrefix(name, "__") || strings.Contains(rest, "when=") || strings.Contains(rest, ";") {
		return ""
	}
	return strings.ToLower(name)
}

func badHashes(who string, line int, sha256, md5 string) []string {
	var list []string
	for _, hash := range []struct {
		key, text string
		digits    int
	}{{"sha256", sha256, 64}, {"md5", md5, 32}} {
		if hash.text != "" && !isHex(hash.text, hash.digits) {
			list = append(list, fmt.Sprintf("the %s of %s (line %d) is not %d hex digits", hash.key, who, line, hash.digits))
		}
	}
	return list
}

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
