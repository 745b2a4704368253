package wheel

import (
	"encoding/json"
	"fmt"

	"github.com/hpcenv/hpcenv/cache"
)

// MetaVersion is the version of Meta's own form. Metadata of another version is
// not read; the archive is interpreted again.
const MetaVersion = 1

// Meta is what a wheel says of itself beyond its entries. It is the Meta of a
// manifest.
type Meta struct {
	MetaVersion int `json:"meta_version"`
	// Name and Version as METADATA has them.
	Name    string `json:"name"`
	Version string `json:"version"`
	// RequiresPython ("" = any), RequiresDist and ProvidesExtra as METADATA has
	// them.
	RequiresPython string   `json:"requires_python,omitempty"`
	RequiresDist   []string `json:"requires_dist,omitempty"`
	ProvidesExtra  []string `json:"provides_extra,omitempty"`
	// WheelVersion, Generator and Tags as WHEEL has them; Pure is Root-Is-Purelib.
	WheelVersion string   `json:"wheel_version"`
	Generator    string   `json:"generator,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Pure         bool     `json:"pure,omitempty"`
	// Prefix is what the directories <Prefix>.dist-info and <Prefix>.data are
	// called after.
	Prefix string `json:"prefix"`
	// Console and GUI are the commands of entry_points.txt, sorted by name.
	Console []EntryPoint `json:"console,omitempty"`
	GUI     []EntryPoint `json:"gui,omitempty"`
	// Scripts holds, by path in the archive, what follows the first line of each
	// file of scripts/ whose first line names the interpreter to come (#!python):
	// they are written anew for each environment, and are no entries.
	Scripts map[string][]byte `json:"scripts,omitempty"`
	// Rows are, by path in the archive, the rows of RECORD that do not follow from
	// an entry: those of files that are no entries, and those with another digest
	// form, spelling or size. The files of NoRow have none (old signatures).
	Rows  map[string]Row `json:"rows,omitempty"`
	NoRow []string       `json:"no_row,omitempty"`
}

// DistInfo is the directory of the wheel's own metadata, as the archive has it.
func (m *Meta) DistInfo() string { return m.Prefix + ".dist-info" }

// data is the directory whose subdirectories go to different places.
func (m *Meta) data() string { return m.Prefix + ".data" }

// DecodeMeta reads the Meta of a manifest that Interpret made.
func DecodeMeta(raw json.RawMessage) (*Meta, error) {
	var m Meta
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("the wheel's metadata in the manifest cannot be read: %w: %w", err, cache.ErrIntegrity)
	}
	if m.MetaVersion != MetaVersion {
		return nil, fmt.Errorf("the wheel's metadata in the manifest is of version %d, this program reads %d: %w",
			m.MetaVersion, MetaVersion, cache.ErrIntegrity)
	}
	return &m, nil
}
