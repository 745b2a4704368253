package materialize

import (
	"encoding/json"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// LinkerVersion is part of every environment id. It is raised only when the
// bytes of a prefix change for the same input; a golden test enforces it.
const LinkerVersion = 2

// Options of linking that change a prefix's bytes; part of the id.
type Options struct {
	// NoScripts is always true for now: post-link scripts are not run.
	NoScripts bool `json:"no_scripts"`
	// ByteCode: Python sources get compiled files (see package bytecode).
	ByteCode bool `json:"byte_code"`
}

// Package is a locked package with what the store knows of it.
type Package struct {
	Lock     *lockfile.CondaPackage
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
	// Cost is what making it took of the store's file system; nil = not noted.
	Cost *Cost `json:"cost,omitempty"`
	// Packages of the environment.
	Packages []MetaPackage `json:"packages"`
	// Conflicts: paths that more than one package has, and who won.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// SkippedScripts are link scripts that were not run.
	SkippedScripts []string `json:"skipped_scripts,omitempty"`
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

// ByteCode counts the compiled files of an environment.
type ByteCode struct {
	// Files are all that stand for a source; of those, Kept and Headed were
	// shipped by packages (Headed got a new header), Patched belong to sources
	// with the prefix in them and are this environment's own.
	Files   int `json:"files"`
	Kept    int `json:"kept,omitempty"`
	Headed  int `json:"headed,omitempty"`
	Patched int `json:"patched,omitempty"`
	// Failed sources do not compile; Meta.Notes names them.
	Failed int `json:"failed,omitempty"`
	// Processes is how many compilers were started for this environment: 0 where
	// other environments had all of it.
	Processes int `json:"processes"`
	// Skipped says why there is no byte-code at all.
	Skipped string `json:"skipped,omitempty"`
}

// MetaPackage is one line of Meta.Packages.
type MetaPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Build   string `json:"build"`
	SHA256  string `json:"sha256"`
	URL     string `json:"url"`
	Size    int64  `json:"size"`
}

// Conflict is a path owned by more than one package.
type Conflict struct {
	Path   string   `json:"path"`
	Winner string   `json:"winner"`
	Losers []string `json:"losers"`
}
