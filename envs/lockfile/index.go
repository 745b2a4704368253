package lockfile

import "encoding/json"

// Index is locks/<digest>/index.json: what a submission needs to know of a lock
// without parsing it again (a lock of a megabyte costs more to parse than a
// whole sbatch).
type Index struct {
	Version int `json:"version"`
	// Digest of the lock.
	Digest string `json:"digest"`
	// Linker and PrefixRoot are what the ids were computed with (see
	// materialize.LinkerVersion and cache.Store.PrefixRoot); with others they do not hold.
	Linker     int    `json:"linker"`
	PrefixRoot string `json:"prefix_root"`
	// ByteCode: the ids are those of environments with byte-code (ByteCodeYes) or
	// without (ByteCodeNo); "" = there is no Python in the lock.
	ByteCode string `json:"byte_code,omitempty"`
	// Scripts is a digest of which packages' link scripts the ids include; "" = of
	// none.
	Scripts string `json:"scripts,omitempty"`
	// Pythons is a digest of the interpreters that the site offered, for a lock that
	// names neither a Python nor environments; "" for all others. Environments then
	// are those that were asked for so far.
	Pythons string `json:"pythons,omitempty"`
	// Environments by name.
	Environments map[string]IndexEnvironment `json:"environments"`
}

// Values of Index.ByteCode.
const (
	ByteCodeYes = "yes"
	ByteCodeNo  = "no"
)

// IndexEnvironment is one environment of a lock.
type IndexEnvironment struct {
	// ID is the environment id on this store; it covers all platforms.
	ID string `json:"id,omitempty"`
	// Error says why the environment has no id (unsupported entries, …).
	Error string `json:"error,omitempty"`
	// Platforms: conda subdirs that the lock has for it, sorted.
	Platforms []string `json:"platforms"`
	// Python is what of the site's offer was taken (pyenv.Offer), and Lacking says of
	// platforms of the store why the environment does not have them; of a lock that
	// names no Python.
	Python  json.RawMessage   `json:"python,omitempty"`
	Lacking map[string]string `json:"lacking,omitempty"`
	// Problems: what forbids installing it on a platform of the store, by conda
	// subdir.
	Problems map[string]string `json:"problems,omitempty"`
	// Trees are the local source trees that belong to it.
	Trees []SourceTree `json:"trees,omitempty"`
}
