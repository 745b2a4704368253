package uvlock

import (
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// Lock is a uv.lock.
type Lock struct {
	// Revision within version 1: what later ones add may be passed over.
	Revision int
	// RequiresPython of the project.
	RequiresPython version.Set
	// supported environments; empty = all.
	supported []*marker.Marker
	conflicts [][]item
	// members of the workspace, normalized; empty for a single project.
	members []string
	// requirements and groups of a root that is no package.
	requirements []dependency
	groups       sections
	entries      []*entry
	byName       map[string][]*entry
}

// entry is one [[package]].
type entry struct {
	name string
	// version as the lock has it; "" where it is left to the source tree.
	version string
	source  source
	// forks in which the entry is the one of its name; empty = all.
	forks []*marker.Marker

	dependencies []dependency
	extras       sections
	groups       sections
	// offeredExtras and offeredGroups have those without dependencies too.
	offeredExtras, offeredGroups []string

	sdist  *pyfile.File
	wheels []*pyfile.File
	line   int32
}

// sections are the dependencies of extras or groups by their names.
type sections map[string][]dependency

// dependency names an entry.
type dependency struct {
	name string
	// version and source tell entries of one name apart; "" where there is one.
	version string
	source  *source
	extras  []string
	marker  *marker.Marker
	line    int32
	// to is the entry meant; nil for requirements of the root, which are looked up
	// by the forks' markers.
	to *entry
}
