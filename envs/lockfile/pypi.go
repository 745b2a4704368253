package lockfile

// PyPIKind is what a locked Python package is delivered as.
type PyPIKind string

const (
	// PyPIWheel is a .whl archive: installed as the wheel standard says.
	PyPIWheel PyPIKind = "wheel"
	// PyPISdist is a source archive (.tar.gz, .zip) that has to be built.
	PyPISdist PyPIKind = "sdist"
	// PyPIDirectory is a local source tree, often the project itself.
	PyPIDirectory PyPIKind = "directory"
	// PyPIGit is a commit of a git repository.
	PyPIGit PyPIKind = "git"
)

// PyPIPackage is one locked Python package: what a pixi.lock calls `pypi`, a
// `[[package]]` of a uv.lock, a `[[packages]]` of a pylock.toml (PEP 751) after
// the file that fits the target was chosen.
type PyPIPackage struct {
	// Location is the URL or path exactly as the lock has it; print it through
	// RedactURL.
	Location string
	// URL is where to fetch it (http, https, file; for git also ssh), without
	// fragment. For a path it is relative to the lock's directory until Resolve was
	// called. Of a git package it is the repository's.
	URL string
	// Local: the location is a path or file URL.
	Local bool
	Kind  PyPIKind

	// Name as the lock has it; compare names only after normalizing them.
	Name string
	// Version as the lock has it; "" where the lock leaves it to the source tree.
	Version string
	// FileName is the archive's name; "" for directories and git.
	FileName string
	// SHA256 and MD5 in lower-case hex; "" = the lock does not say.
	SHA256, MD5 string
	// Size in bytes; 0 = the lock does not say.
	Size int64
	// Index is the URL of the package index it was found in, without credentials
	// and trailing slash; "" = a direct URL, a path, or not said (which in a
	// pixi.lock 7 means the first index of the environment).
	Index string
	// Direct: the lock names it by a URL or path of the user's own, not through an
	// index. direct_url.json is written for exactly these (PEP 610).
	Direct bool
	// Subdirectory in the archive or repository that holds the package; "" = its root.
	Subdirectory string
	// Commit is the full hash of a git package's commit; Ref is the branch, tag or
	// revision that was asked for ("" = the default branch).
	Commit, Ref string
	// Editable: the lock asks for an editable install of a directory.
	Editable bool

	// RequiresDist are its dependencies as core metadata writes them (PEP 508).
	RequiresDist []string
	// RequiresPython as the lock has it; "" = any.
	RequiresPython string
	// Extras of the package itself that were asked for, sorted.
	Extras []string

	// BuildPackages and HostPackages are the locations of those of the lock's
	// packages with which a source tree is to be built (pixi.lock 7 only).
	BuildPackages, HostPackages []string

	// Line of the entry in the file, for messages.
	Line int
}
