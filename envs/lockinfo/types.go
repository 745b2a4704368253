package lockinfo

import "github.com/hpcenv/hpcenv/envs/stack"

// Report is what a lock holds.
type Report struct {
	// Format of the file, e.g. "pixi.lock 6", and the sha256 of its bytes.
	Format string `json:"format"`
	Digest string `json:"digest"`
	// Environments by name.
	Environments []Environment `json:"environments"`
	// Warnings about the lock as a whole.
	Warnings []string `json:"warnings"`
}

// Environment of a lock.
type Environment struct {
	Name string `json:"name"`
	// Channels without credentials.
	Channels  []string   `json:"channels"`
	Platforms []Platform `json:"platforms"`
	// Other platforms, which hpcenv makes nothing for.
	Other []string `json:"other_platforms,omitempty"`
	// Warnings about the environment, its platforms' excepted.
	Warnings []string `json:"warnings,omitempty"`
}

// Platform is an environment for one platform of the lock.
type Platform struct {
	// Name is the lock's, Subdir the conda subdir.
	Name   string `json:"name"`
	Subdir string `json:"subdir"`
	// Conda and PyPI count packages.
	Conda int `json:"conda"`
	PyPI  int `json:"pypi"`
	// Bytes of all archives of which the lock tells a size; UnknownSizes counts
	// the others.
	Bytes        int64 `json:"bytes"`
	UnknownSizes int   `json:"unknown_sizes,omitempty"`
	// Files that the packages bring (each an inode at most). Estimated: for
	// packages that are not in the store it is a guess by the archive's size.
	Files     int  `json:"files"`
	Estimated bool `json:"files_estimated"`
	// Requirements that packages state, by text.
	Requirements []Requirement `json:"requirements"`
	// Stack is what programs communicate and compute with.
	Stack []stack.Part `json:"stack"`
	// Trees are local source trees, which are used where they lie.
	Trees []string `json:"source_trees,omitempty"`
	// Unsupported entries, with the reason.
	Unsupported []string `json:"unsupported,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// Requirement is what packages ask of the node they run on, as they write it.
type Requirement struct {
	// Spec is a match spec over a virtual package, e.g. "__glibc >=2.17,<3.0.a0".
	Spec string `json:"spec"`
	// If: it counts only on nodes that have the virtual package (constrains).
	If bool `json:"only_if_present,omitempty"`
	// Packages that ask for it, sorted; empty = the lock's platform does.
	Packages []string `json:"packages,omitempty"`
}

// AssumedArchive is taken for an archive of unknown size, in bytes.
const AssumedArchive = 400 << 10

// What archives hold: averages over a Python stack for data analysis, from which
// single packages differ by far. What goes beyond a large archive's first part is
// mostly libraries, which are few and large.
const (
	bytesPerFile    = 7000 // packed
	firstPart       = 20 << 20
	bytesPerLibrary = 200_000 // packed
)

// GuessFiles is how many files an archive of so many bytes (0 = not known) is
// taken to have.
func GuessFiles(archive int64) int {
	if archive <= 0 {
		archive = AssumedArchive
	}
	return 1 + int(min(archive, firstPart)/bytesPerFile+max(archive-firstPart, 0)/bytesPerLibrary)
}
