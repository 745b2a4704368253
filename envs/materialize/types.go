package materialize

import (
	"encoding/json"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/making"
)

// LinkerVersion is part of every environment id. It is raised only when the
// bytes of a prefix change for the same input; a golden test enforces it.
const LinkerVersion = 4

// Options of linking that change a prefix's bytes; part of the id.
type Options struct {
	// NoScripts is always true: link scripts that Scripts does not name are not run.
	NoScripts bool `json:"no_scripts"`
	// Scripts names the packages whose link scripts are run, as "subdir/name",
	// sorted.
	Scripts []string `json:"scripts,omitempty"`
	// ByteCode: Python sources get compiled files (see package bytecode).
	ByteCode bool `json:"byte_code"`
}

// Package is a locked package with what the store knows of it: a conda package, a
// wheel, or a Python that comes as an archive of its own. One of the three is set.
type Package struct {
	// Lock of a conda package.
	Lock *lockfile.CondaPackage
	// Wheel as the lock has it.
	Wheel *lockfile.PyPIPackage
	// Python as the site gives it to a lock that names none.
	Python   *lockfile.StandalonePython
	Manifest *cache.Manifest
}

// Meta is meta/<id>/<platform>.json: what is known of a published environment
// without reading its tree.
type Meta struct {
	Version     int    `json:"version"`
	ID          string `json:"id"`
	Platform    string `json:"platform"` // conda subdir
	Environment string `json:"environment"`
	LockDigest  string `json:"lock"`
	Prefix      string `json:"prefix"`
	// TreeDigest as design 3 defines it.
	TreeDigest string `json:"tree_digest"`
	Files      int    `json:"files"`
	Dirs       int    `json:"dirs"`
	Links      int    `json:"links"`
	// Bytes of all files; BytesNew of those not shared with the pool.
	Bytes    int64 `json:"bytes"`
	BytesNew int64 `json:"bytes_new"`
	// Image is the published image; nil = there is none. (What is delivered, Delivered
	// says: a run that was killed may have left a record without its image.)
	Image *image.Record `json:"image,omitempty"`
	// Delivered says in which forms it is published; Published fills it in.
	Delivered image.Delivery `json:"-"`
	// Cost is what making it took of the store's file system; nil = not noted.
	Cost *Cost `json:"cost,omitempty"`
	// Packages of the environment.
	Packages []MetaPackage `json:"packages"`
	// Conflicts: paths that more than one package has, and who won.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// SkippedScripts are link scripts that were not run.
	SkippedScripts []string `json:"skipped_scripts,omitempty"`
	// Scripts are the link scripts that were run; Degraded: one of them failed, so
	// the environment lacks what it would have made.
	// AllowedScripts is Options.Scripts.
	Scripts        []ScriptResult `json:"scripts,omitempty"`
	AllowedScripts []string       `json:"allowed_scripts,omitempty"`
	Degraded       bool           `json:"degraded,omitempty"`
	// Notes of the packages (see cache.Manifest.Notes), by package.
	Notes []string `json:"notes,omitempty"`
	// ByteCode says how the environment got its compiled files; nil = none were
	// asked for, or there is no python.
	ByteCode *ByteCode `json:"byte_code,omitempty"`
	// Activation is the static part of the activation.
	Activation activation.Static `json:"activation"`
	// Provenance: who built it, when, with what.
	Provenance json.RawMessage `json:"provenance,omitempty"`
}

// Parts of a Meta that the API tells in the same form.
type (
	// Cost is what making the environment took of the store's file system.
	Cost = making.Cost
	// ByteCode counts its compiled files.
	ByteCode = making.ByteCode
	// ScriptResult is what became of a link script.
	ScriptResult = making.Script
	// MetaPackage is one line of Meta.Packages.
	MetaPackage = making.Package
)

// Conflict is a path owned by more than one package.
type Conflict struct {
	Path   string   `json:"path"`
	Winner string   `json:"winner"`
	Losers []string `json:"losers"`
}
