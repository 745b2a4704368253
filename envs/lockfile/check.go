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
	for _, pkg := range p.Conda {
		switch {
		case pkg.SHA256 != "":
		case pkg.MD5 != "":
			list = append(list, fmt.Sprintf("%s (line %d) has an md5 but no sha256; next: %s", pkg.Dist(), pkg.Line, rehash))
		default:
			list = append(list, fmt.Sprintf("%s (line %d) has no sha256; next: %s", pkg.Dist(), pkg.Line, rehash))
		}
	}
	for _, pkg := range p.PyPI {
		if pkg.Kind == PyPIWheel && pkg.SHA256 == "" {
			list = append(list, fmt.Sprintf("%s (line %d) has no sha256, so its bytes could not be checked; next: write the lock anew with hashes", pkg.FileName, pkg.Line))
		}
	}
	return p.problems(list)
}

// rehash is how sha256 hashes come into a lock, by the tool that wrote it.
const rehash = "write the lock anew with them (`pixi lock`, `conda-lock lock` or `conda list --explicit --sha256`), from a channel that publishes them"

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
