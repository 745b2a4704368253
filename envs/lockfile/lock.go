package lockfile

import (
	"encoding/json"
	"errors"
)

// ErrLock is the class of every error about a lock's own content (not YAML,
// unknown version, entries that contradict one another, what was asked for is
// not in it). The text names line or entry.
var ErrLock = errors.New("lock file cannot be used")

// Lock is a lock file, independent of its version.
type Lock struct {
	// Format is what kind of lock the file is; Version is the number in it (0 for
	// a format without one).
	Format  Format
	Version int
	// Digest is the lower-case hex sha256 of the file's bytes.
	Digest string
	// Environments, sorted by name.
	Environments []*Environment
	// Building are the packages with which source packages and source trees are to
	// be built (pixi.lock 7 only), whether or not an environment has them too.
	Building Packages
}

// Packages are locked packages in the lock's order, each once.
type Packages struct {
	Conda       []*CondaPackage
	PyPI        []*PyPIPackage
	Unsupported []Unsupported
}

// Environment is a named environment of a lock.
type Environment struct {
	Name string
	// Channels as URLs, in the lock's order, without trailing slash and without
	// credentials.
	Channels []string
	// Indexes of Python packages as URLs, in the lock's order, and further places
	// that they were found in (URLs or paths); without credentials.
	Indexes, FindLinks []string
	// Platforms for Linux, sorted by Name. Platforms of other systems are read and
	// checked like them and kept apart, in Others: nothing is ever installed of
	// them. Skipped has their names.
	Platforms, Others []*Platform
	Skipped           []string
}

// Platform holds the packages of one environment for one platform of the lock.
type Platform struct {
	// Name is the lock's name for it (v7 may have aliases); Subdir is the conda
	// subdir, e.g. linux-64.
	Name, Subdir string
	// VirtualPackages as the lock has them (v7 only), e.g. "__glibc=2.28".
	VirtualPackages []string
	// Conda packages in the lock's order.
	Conda []*CondaPackage
	// Python of an environment whose lock names none, where it comes as an archive
	// of its own; nil = it is one of Conda, or there is none.
	Python *StandalonePython
	// PyPI packages in the lock's order: wheels, and what has to be built.
	PyPI []*PyPIPackage
	// Unsupported lists entries that this program cannot install: conda packages
	// that would have to be built, that no known scheme fetches, or that are
	// wheels. Reading a lock that has them is not an error; materializing one is,
	// and names them all.
	Unsupported []Unsupported
}

// Unsupported is an entry of a lock that cannot be installed, and why.
type Unsupported struct {
	// Location exactly as the lock has it; print it through RedactURL.
	Location string
	// Name of the package, as the lock has it or its location tells it.
	Name string
	// CondaName: Name is a conda package's, so it satisfies conda dependencies
	// (a wheel's name does not).
	CondaName bool
	Reason    string
	// Entry is the whole entry as JSON, scalars as texts.
	Entry json.RawMessage
	// Line of the entry in the file.
	Line int
}

// CondaPackage is one locked conda archive with its record.
type CondaPackage struct {
	// Location is the URL or path exactly as the lock has it.
	Location string
	// URL is the location as a URL (http, https, file). For a path it is
	// relative to the lock's directory until Resolve was called.
	URL string
	// Local: the location is a path or file URL.
	Local bool

	Name, Version, Build string
	BuildNumber          int64
	Subdir               string
	// Noarch is "", "python" or "generic".
	Noarch string
	// Channel URL, without trailing slash and without credentials; "" for a path
	// or file URL, unless the lock names one.
	Channel string
	// FileName is the archive's name.
	FileName    string
	SHA256, MD5 string
	// Size in bytes; 0 = the lock does not say.
	Size                int64
	Depends, Constrains []string
	Features            string
	TrackFeatures       []string
	License             string
	LicenseFamily       string
	// PythonSitePackagesPath is python_site_packages_path (CEP 17).
	PythonSitePackagesPath string
	// Timestamp in milliseconds since 1970; 0 = none.
	Timestamp int64
	// Purls as the lock has them; HasPurls tells an empty list from none.
	Purls    []string
	HasPurls bool
	// Arch and OS are the record's "arch" and "platform". They follow from
	// Subdir; what old files say of them is not looked at. "" for noarch.
	Arch, OS string

	// LegacyBz2MD5 and LegacyBz2Size describe the .tar.bz2 that a .conda
	// replaced; carried for the record only.
	LegacyBz2MD5  string
	LegacyBz2Size int64
	// ExtraDepends are dependencies by the name of an extra.
	ExtraDepends map[string][]string
	Flags        []string
	// RunExports (version 7 only) as canonical JSON; nil = not known, {} = known
	// to have none.
	RunExports json.RawMessage
	// Line of the entry in the file, for messages.
	Line int
}
