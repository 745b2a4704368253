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
}

func (e *ProblemsError) Error() string {
	return fmt.Sprintf("%s: platform %s: %s", ErrLock, e.Platform, strings.Join(e.Problems, "; "))
}

func (e *ProblemsError) Unwrap() error { return ErrLock }

func (p *Platform) problems(list []string) error {
	if len(list) == 0 {
		return nil
	}
	return &ProblemsError{Platform: p.Name, Problems: list}
}

// Check looks whether the packages of a platform fit together: one record per
// conda name, dependencies satisfied by name, each record for this platform or
// noarch, python there where noarch python packages are, hashes well formed.
// The error is a *ProblemsError that names all of what is wrong.
func (p *Platform) Check() error { return p.problems(p.inconsistencies()) }

// Supported says whether all entries can be installed; the error is a
// *ProblemsError that names all that cannot, and why.
func (p *Platform) Supported() error { return p.problems(p.unsupported()) }

// Validate is what must hold before a platform is installed: Check, Supported,
// and a sha256 for every package, since that is a package's identity. The error
// is a *ProblemsError that names everything.
func (p *Platform) Validate() error {
	list := append(p.unsupported(), p.inconsistencies()...)
	for _, pkg := range p.Conda {
		if pkg.SHA256 == "" {
			list = append(list, fmt.Sprintf("%s (line %d) has no sha256; next: `pixi lock` with a channel that publishes them", pkg.Dist(), pkg.Line))
		}
	}
	return p.problems(list)
}

// Dist is name-version-build, as messages call a package.
func (c *CondaPackage) Dist() string { return c.Name + "-" + c.Version + "-" + c.Build }

func (p *Platform) unsupported() []string {
	var list []string
	for _, u := range p.Unsupported {
		list = append(list, fmt.Sprintf("%s (%s, line %d) is %s", u.Name, RedactURL(u.Location), u.Line, u.Reason))
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
		if have[name] != nil {
			return true
		}
		return slices.ContainsFunc(p.Unsupported, func(u Unsupported) bool { return u.CondaName && strings.ToLower(u.Name) == name })
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
		for _, hash := range []struct {
			key, text string
			digits    int
		}{{"sha256", pkg.SHA256, 64}, {"md5", pkg.MD5, 32}} {
			if hash.text != "" && !isHex(hash.text, hash.digits) {
				list = append(list, fmt.Sprintf("the %s of %s (line %d) is not %d hex digits", hash.key, pkg.Dist(), pkg.Line, hash.digits))
			}
		}
	}
	if len(noarchPython) > 0 && !provided("python") {
		list = append(list, "python is not there, but packages for any python are: "+strings.Join(noarchPython, ", "))
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

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
