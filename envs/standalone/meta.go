package standalone

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// MetaVersion is the version of Meta's own form.
const MetaVersion = 1

// Meta is what is known of an archive beyond its entries. It is the Meta of a
// manifest.
type Meta struct {
	MetaVersion int `json:"standalone_version"`
	// Version as its headers say it; "" = they do not.
	Version string `json:"version,omitempty"`
	// Short is major.minor; Site is site-packages, relative to the prefix.
	Short string `json:"short"`
	Site  string `json:"site"`
	// FreeThreaded: built without the global interpreter lock.
	FreeThreaded bool `json:"free_threaded,omitempty"`
	// Subdir is the conda subdir that its program runs on, Libc the C library that
	// it is linked with ("glibc", "musl", "none"); "" = the program does not tell.
	Subdir string `json:"subdir,omitempty"`
	Libc   string `json:"libc,omitempty"`
	// Edits by path, those of a path ascending and apart from one another.
	Edits map[string][]Edit `json:"edits,omitempty"`
	// Bundled are the distributions in site-packages, by normalized name.
	Bundled map[string]Bundled `json:"bundled,omitempty"`
}

// Edit replaces Len bytes at At of a file by Text, with the prefix before it if
// Prefix is set.
type Edit struct {
	At     int64  `json:"at"`
	Len    int64  `json:"len,omitempty"`
	Prefix bool   `json:"prefix,omitempty"`
	Text   string `json:"text,omitempty"`
}

// Bundled is a distribution that the archive brings.
type Bundled struct {
	Version string `json:"version"`
	// Paths of its files, sorted.
	Paths []string `json:"paths"`
}

// DecodeMeta reads the Meta of a manifest that Interpret made.
func DecodeMeta(raw json.RawMessage) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("metadata of the interpreter in the manifest cannot be read: %w: %w", err, cache.ErrIntegrity)
	}
	if m.MetaVersion != MetaVersion {
		return nil, fmt.Errorf("metadata of the interpreter in the manifest is of version %d, this program reads %d: %w", m.MetaVersion, MetaVersion, cache.ErrIntegrity)
	}
	return &m, nil
}

// Faults says where the archive is not what a site's list says of it, one phrase
// each; nil = it is, as far as it tells.
func (m *Meta) Faults(pythonVersion, subdir string, freeThreaded bool) []string {
	var out []string
	if m.Version != "" && !sameVersion(m.Version, pythonVersion) {
		out = append(out, fmt.Sprintf("it is Python %s, not %s", m.Version, pythonVersion))
	} else if !strings.HasPrefix(pythonVersion+".", m.Short+".") {
		out = append(out, fmt.Sprintf("it is Python %s, not %s", m.Short, pythonVersion))
	}
	if m.Subdir != "" && m.Subdir != subdir {
		out = append(out, fmt.Sprintf("it is for %s, not for %s", m.Subdir, subdir))
	}
	if m.FreeThreaded != freeThreaded {
		is := map[bool]string{true: "without", false: "with"}
		out = append(out, fmt.Sprintf("it is built %s the global interpreter lock", is[m.FreeThreaded]))
	}
	switch m.Libc {
	case "musl":
		out = append(out, "it is linked with musl; wheels are chosen for glibc")
	case "none":
		out = append(out, "it is linked statically, so that it can load no wheel's libraries")
	}
	return out
}

func sameVersion(a, b string) bool {
	v, err := version.Parse(a)
	w, werr := version.Parse(b)
	return err == nil && werr == nil && v.Equal(w)
}

// sortEdits puts edits into their order.
func sortEdits(edits []Edit) []Edit {
	slices.SortStableFunc(edits, func(a, b Edit) int { return int(a.At - b.At) })
	return edits
}
