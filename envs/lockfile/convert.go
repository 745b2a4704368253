package lockfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads a pixi.lock of version 6 or 7. Errors wrap ErrLock and name the
// line; a version that is not read is a *VersionError. That packages cannot be
// installed, or have no sha256, is no error here: Platform.Validate tells.
func Parse(data []byte) (*Lock, error) {
	root, err := read(data)
	if err != nil {
		return nil, err
	}
	version, err := readVersion(&root)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	lock := &Lock{Version: version, Digest: hex.EncodeToString(sum[:])}
	var model interface{ convert(*Lock) error }
	if version == 6 {
		model, err = readV6(&root)
	} else {
		model, err = readV7(&root)
	}
	if err == nil {
		err = model.convert(lock)
	}
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// entry is a package of any version: one that can be installed, or one that
// cannot.
type entry struct {
	pkg         *CondaPackage
	unsupported *Unsupported
}

// condaEntry completes a conda archive.
func condaEntry(g given, pkg *CondaPackage) (*entry, error) {
	if err := g.fill(pkg); err != nil {
		return nil, fmt.Errorf("%w: line %d: package %s: %w", ErrLock, pkg.Line, RedactURL(pkg.Location), err)
	}
	switch s := scheme(pkg.Location); {
	case !isURL(pkg.Location), s == "http", s == "https", s == "file":
		return &entry{pkg: pkg}, nil
	default:
		return &entry{pkg: pkg, unsupported: &Unsupported{
			Location: pkg.Location, Name: pkg.Name, CondaName: true, Line: pkg.Line,
			Reason: fmt.Sprintf("a %s:// URL cannot be fetched, only http, https and file can", s),
		}}, nil
	}
}

const (
	reasonSource = "a source package, which would have to be built"
	reasonTree   = "a Python source tree, which would have to be built"
	reasonSdist  = "a Python source archive, which would have to be built"
	reasonWheel  = "a wheel; wheels are not installed yet"
)

func sourceEntry(location, name string, line int) *entry {
	return &entry{unsupported: &Unsupported{Location: location, Name: name, CondaName: true, Reason: reasonSource, Line: line}}
}

func pypiEntry(location, name string, distribution bool, line int) *entry {
	reason := reasonTree
	if distribution {
		reason = reasonSdist
		if strings.HasSuffix(fileName(location), ".whl") {
			reason = reasonWheel
		}
	}
	return &entry{unsupported: &Unsupported{Location: location, Name: name, Reason: reason, Line: line}}
}

// contradicts: two entries for one archive that promise different bytes.
func (e *entry) contradicts(other *entry) bool {
	if e.pkg == nil || other.pkg == nil {
		return false
	}
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differ(e.pkg.SHA256, other.pkg.SHA256) || differ(e.pkg.MD5, other.pkg.MD5)
}

func contradiction(e, first *entry) error {
	return fmt.Errorf("%w: line %d: package %s is there already, in line %d, with another hash",
		ErrLock, e.pkg.Line, RedactURL(e.pkg.Location), first.pkg.Line)
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
		e.Skipped = append(e.Skipped, p.Name)
	}
}

// finish sorts what the domain type promises sorted.
func (l *Lock) finish() {
	for _, env := range l.Environments {
		slices.SortFunc(env.Platforms, func(a, b *Platform) int { return strings.Compare(a.Name, b.Name) })
		slices.Sort(env.Skipped)
	}
	slices.SortFunc(l.Environments, func(a, b *Environment) int { return strings.Compare(a.Name, b.Name) })
}

func missing(line int, env, platform, location string) error {
	return fmt.Errorf("%w: line %d: environment %q, platform %q: package %s is not among the lock's packages",
		ErrLock, line, env, platform, RedactURL(location))
}
