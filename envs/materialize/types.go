package materialize

import (
	"encoding/json"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// LinkerVersion is part of every environment id. It is raised only when the
// bytes of a prefix change for the same input; a golden test enforces it.
const LinkerVersion = 1

// Options of linking that change a prefix's bytes; part of the id.
type Options struct {
	// NoScripts is always true for now: post-link scripts are not run.
	NoScripts bool `json:"no_scripts"`
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
	// Activation is the static part of the activation.
	Activation activation.Static `json:"activation"`
	// Provenance: who built it, when, with what.
	Provenance json.RawMessage `json:"provenance,omitempty"`
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
