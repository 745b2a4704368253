// Package condapkg writes conda packages.
//
// Enters: a Package, that is a record (name, version, depends …) and its files
// in memory. Leaves: the bytes of a .conda or .tar.bz2 archive, equal for equal
// input (fixed times, sorted members, no host's names in it), and the Record
// that a channel index or a lock file has of it.
//
// It serves the demo channel and tests; hpcenv itself never writes packages.
package condapkg

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"
)

// Placeholder is the build prefix that stands in the files of packages made
// here. It has 255 bytes, as conda's build tools use, so that any shorter prefix
// fits into a binary.
var Placeholder = "/hpcenv-demo-build/" + strings.Repeat("_h_env_placehold", 14) + "_placehold_p"

// Format is the container of an archive.
type Format string

// The two formats of conda packages.
const (
	Conda  Format = ".conda"
	TarBz2 Format = ".tar.bz2"
)

// File is one path of a package.
type File struct {
	// Path relative to the prefix, slash-separated.
	Path string
	// Executable sets the x bits.
	Executable bool
	// Link is a symbolic link's text; "" = not a link.
	Link string
	// Dir says that Path is an (empty) directory.
	Dir bool
	// NoLink asks the installer to copy the file rather than to link it.
	NoLink bool
	// Data is a regular file's content. Where it holds Placeholder, the package
	// says so in paths.json: as binary if there is a NUL byte, else as text.
	Data []byte
}

// Package is a conda package before it is packed.
type Package struct {
	Name, Version, Build string
	BuildNumber          int
	// Subdir: noarch, linux-64 or linux-aarch64.
	Subdir string
	// Noarch is "", "python" or "generic".
	Noarch              string
	Depends, Constrains []string
	License             string
	// Timestamp of the build, in milliseconds since 1970.
	Timestamp int64
	// SitePackages is python_site_packages_path (package python only).
	SitePackages string
	// EntryPoints ("cmd = module:func") of a noarch python package.
	EntryPoints []string
	// Summary for info/about.json.
	Summary string
	// Licenses are files below info/licenses, by name.
	Licenses map[string][]byte
	Files    []File
}

var (
	nameRE    = regexp.MustCompile(`^[a-z0-9_][a-z0-9_.-]*$`)
	versionRE = regexp.MustCompile(`^[a-z0-9][a-z0-9._+!]*$`)
	buildRE   = regexp.MustCompile(`^[a-z0-9_.]+$`)
)

// Dist is name-version-build, the archive's name without extension.
func (p *Package) Dist() string { return p.Name + "-" + p.Version + "-" + p.Build }

// check refuses what no installer would take, and sorts the files.
func (p *Package) check() error {
	fail := func(f string, a ...any) error {
		return fmt.Errorf("package %s: %s", p.Dist(), fmt.Sprintf(f, a...))
	}
	switch {
	case !nameRE.MatchString(p.Name):
		return fail("the name %q is not a conda package name", p.Name)
	case !versionRE.MatchString(p.Version):
		return fail("the version %q is not a conda version", p.Version)
	case !buildRE.MatchString(p.Build):
		return fail("the build %q has characters other than a-z, 0-9, _ and .", p.Build)
	case (p.Subdir == "noarch") != (p.Noarch != ""):
		return fail("subdir %q does not go with noarch %q", p.Subdir, p.Noarch)
	case len(p.EntryPoints) > 0 && p.Noarch != "python":
		return fail("entry points are for noarch python packages only")
	}
	sort.Slice(p.Files, func(i, j int) bool { return p.Files[i].Path < p.Files[j].Path })
	for i, f := range p.Files {
		if f.Path != path.Clean(f.Path) || path.IsAbs(f.Path) || f.Path == ".." || strings.HasPrefix(f.Path, "../") {
			return fail("the path %q is not clean and relative", f.Path)
		}
		if f.Path == "info" || strings.HasPrefix(f.Path, "info/") {
			return fail("the path %q is reserved for metadata", f.Path)
		}
		if i > 0 && p.Files[i-1].Path == f.Path {
			return fail("the path %q occurs twice", f.Path)
		}
	}
	return nil
}

// placeholderMode is "", "text" or "binary".
func (f *File) placeholderMode() string {
	if !bytes.Contains(f.Data, []byte(Placeholder)) {
		return ""
	}
	if bytes.IndexByte(f.Data, 0) >= 0 {
		return "binary"
	}
	return "text"
}

func (f *File) mode() int64 {
	if f.Executable {
		return 0o755
	}
	return 0o644
}
