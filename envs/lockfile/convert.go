package lockfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// entry is a package of any version: one of the three. A conda package that
// cannot be installed has both pkg and unsupported.
type entry struct {
	pkg         *CondaPackage
	pypi        *PyPIPackage
	unsupported *Unsupported
}

// condaEntry completes a conda archive.
func condaEntry(g given, pkg *CondaPackage) (*entry, error) {
	if err := g.fill(pkg); err != nil {
		return nil, fmt.Errorf("%w: line %d: package %s: %w", ErrLock, pkg.Line, RedactURL(pkg.Location), err)
	}
	switch s := scheme(pkg.Location); {
	case !isURL(pkg.Location), s == "http", s == "https", s == "file", s == "s3", s == "oci":
		return &entry{pkg: pkg}, nil
	default:
		return &entry{pkg: pkg, unsupported: &Unsupported{
			Location: pkg.Location, Name: pkg.Name, CondaName: true, Entry: pkg.Record(), Line: pkg.Line,
			Reason: fmt.Sprintf("a %s:// URL cannot be fetched, only http, https, file, s3 and oci can", s),
		}}, nil
	}
}

// archiveEntry is condaEntry for a location that must be an archive's; key is where
// the lock has it.
func archiveEntry(key string, g given, pkg *CondaPackage) (*entry, error) {
	if _, archive := archiveName(fileName(pkg.Location)); !archive {
		return nil, fmt.Errorf("%w: line %d: `%s` must end in the name of a conda archive (name-version-build.conda or .tar.bz2), it is %s",
			ErrLock, pkg.Line, key, RedactURL(pkg.Location))
	}
	return condaEntry(g, pkg)
}

const (
	reasonSource     = "a source package, which would have to be built"
	reasonCondaWheel = "a wheel from a conda channel, which is not installed"
)

func sourceEntry(location, name string, whole *value) *entry {
	return &entry{unsupported: &Unsupported{
		Location: location, Name: name, CondaName: true, Reason: reasonSource, Entry: whole.whole(), Line: whole.line,
	}}
}

// pypiEntry completes a Python package.
func pypiEntry(pkg *PyPIPackage, archive bool) (*entry, error) {
	if err := pkg.complete(archive); err != nil {
		return nil, fmt.Errorf("%w: line %d: package %s: %w", ErrLock, pkg.Line, RedactURL(pkg.Location), err)
	}
	return &entry{pypi: pkg}, nil
}

// contradicts: two entries for one archive that promise different bytes.
func (e *entry) contradicts(other *entry) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case e.pkg != nil && other.pkg != nil:
		return differ(e.pkg.SHA256, other.pkg.SHA256) || differ(e.pkg.MD5, other.pkg.MD5)
	case e.pypi != nil && other.pypi != nil:
		return differ(e.pypi.SHA256, other.pypi.SHA256) || differ(e.pypi.MD5, other.pypi.MD5)
	}
	return false
}

// at is where an entry stands and what it locates.
func (e *entry) at() (line int, location string) {
	switch {
	case e.pkg != nil:
		return e.pkg.Line, e.pkg.Location
	case e.pypi != nil:
		return e.pypi.Line, e.pypi.Location
	}
	return e.unsupported.Line, e.unsupported.Location
}

func contradiction(e, first *entry) error {
	line, location := e.at()
	before, _ := first.at()
	return fmt.Errorf("%w: line %d: package %s is there already, in line %d, with another hash",
		ErrLock, line, RedactURL(location), before)
}

// platformOf collects the entries of a platform, each once, in the lock's
// order.
func platformOf(name, subdir string, virtual []string, entries []*entry) *Platform {
	p := &Platform{Name: name, Subdir: subdir, VirtualPackages: virtual}
	seen := make(map[*entry]bool, len(entries))
	for _, e := range entries {
		switch {
		case seen[e]:
		case e.unsupported != nil:
			p.Unsupported = append(p.Unsupported, *e.unsupported)
		case e.pypi != nil:
			p.PyPI = append(p.PyPI, e.pypi)
		default:
			p.Conda = append(p.Conda, e.pkg)
		}
		seen[e] = true
	}
	return p
}

// maxName bounds an environment's name in bytes.
const maxName = 128

// checkEnvironmentName refuses what pixi gives no environment and what a command
// line, a path or another user's terminal would take for something else.
func checkEnvironmentName(line int, name string) error {
	bad := name == "" || len(name) > maxName || name[0] == '-' || !utf8.ValidString(name)
	for _, r := range name {
		bad = bad || !unicode.IsPrint(r) || strings.ContainsRune(" /\\'\"`$", r)
	}
	if bad {
		return fmt.Errorf("%w: line %d: %q is no name for an environment: letters, digits, `-`, `_` and the like are", ErrLock, line, name)
	}
	return nil
}

// add puts a platform into its environment, or passes it over.
func (e *Environment) add(p *Platform) {
	if LinuxSubdir(p.Subdir) {
		e.Platforms = append(e.Platforms, p)
	} else {
		e.Others = append(e.Others, p)
		e.Skipped = append(e.Skipped, p.Name)
	}
}

// finish sorts what the domain type promises sorted.
func (l *Lock) finish() {
	for _, env := range l.Environments {
		byName := func(a, b *Platform) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(env.Platforms, byName)
		slices.SortFunc(env.Others, byName)
		slices.Sort(env.Skipped)
	}
	slices.SortFunc(l.Environments, func(a, b *Environment) int { return strings.Compare(a.Name, b.Name) })
}

func missing(line int, env, platform, location string) error {
	return fmt.Errorf("%w: line %d: environment %q, platform %q: package %s is not among the lock's packages",
		ErrLock, line, env, platform, RedactURL(location))
}
