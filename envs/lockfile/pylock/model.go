package pylock

import (
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// Lock is a pylock.toml.
type Lock struct {
	// Version is `lock-version`; of a later minor version than 1.0 something may
	// have been passed over.
	Version version.Version
	// CreatedBy names the program that wrote it.
	CreatedBy string
	// RequiresPython of the project.
	RequiresPython version.Set
	// Extras and DependencyGroups that can be asked for, and those of the groups
	// that are taken by default, normalized.
	Extras, DependencyGroups, DefaultGroups []string

	// environments that it is for; nil = all.
	environments []*marker.Marker
	packages     []*entry
}

// entry is one of [[packages]].
type entry struct {
	name string
	// version as the lock has it; "" = not said.
	version        string
	marker         *marker.Marker
	requiresPython version.Set
	index          string
	// direct is a package from a repository, directory or archive; nil = sdist and
	// wheels.
	direct *lockfile.PyPIPackage
	// archive of direct; nil for repositories and directories.
	archive *pyfile.File
	sdist   *pyfile.File
	wheels  []*pyfile.File
	line    int32
}
