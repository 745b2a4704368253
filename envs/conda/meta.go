package conda

import (
	"encoding/json"
	"fmt"

	"github.com/hpcenv/hpcenv/cache"
)

// MetaVersion is the version of PackageMeta's own form. Metadata of another
// version is not read; the archive is interpreted again.
const MetaVersion = 1

// PackageMeta is what a package's info/ says beyond its entries. It is the Meta
// of a manifest.
type PackageMeta struct {
	MetaVersion int `json:"meta_version"`
	// Name, Version, Build, BuildNumber and Subdir as info/index.json has them.
	// A lock's record may say otherwise, since channels patch metadata.
	Name        string `json:"name"`
	Version     string `json:"version"`
	Build       string `json:"build"`
	BuildNumber int64  `json:"build_number,omitempty"`
	Subdir      string `json:"subdir,omitempty"`
	// Noarch is "", "python" or "generic"; "python" is what moves
	// site-packages/ and python-scripts/ to their places.
	Noarch string `json:"noarch,omitempty"`
	// EntryPoints of a noarch python package, in its own order.
	EntryPoints []EntryPoint `json:"entry_points,omitempty"`
	// Scripts are the package's link scripts that exist (paths below bin/).
	Scripts []string `json:"scripts,omitempty"`
	// HasPaths: the package has info/paths.json (else info/files).
	HasPaths bool `json:"has_paths,omitempty"`
	// Recorded holds, by path, what paths.json says where an entry does not say
	// the same already: links (whose digest is of the content they point to) and
	// files that disagree with the archive.
	Recorded map[string]PathRecord `json:"recorded,omitempty"`
}

// PathRecord is one path as info/paths.json records it.
type PathRecord struct {
	// Type is "hardlink", "softlink" or "directory".
	Type string `json:"type,omitempty"`
	// SHA256 (lower-case hex; "" = not recorded).
	SHA256 string `json:"sha256,omitempty"`
	// Size in bytes; nil = not recorded.
	Size *int64 `json:"size,omitempty"`
}

// Values of PathRecord.Type.
const (
	TypeHardlink  = "hardlink"
	TypeSoftlink  = "softlink"
	TypeDirectory = "directory"
)

// DecodeMeta reads the Meta of a manifest that Interpret made.
func DecodeMeta(raw json.RawMessage) (*PackageMeta, error) {
	var m PackageMeta
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("package metadata in the manifest cannot be read: %w: %w", err, cache.ErrIntegrity)
	}
	if m.MetaVersion != MetaVersion {
		return nil, fmt.Errorf("package metadata in the manifest is of version %d, this program reads %d: %w",
			m.MetaVersion, MetaVersion, cache.ErrIntegrity)
	}
	return &m, nil
}
