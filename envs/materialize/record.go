package materialize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// record is conda-meta/<name>-<version>-<build>.json (CEP 32). It holds nothing
// that depends on where or how a prefix was made: no cache paths, and always link
// type 1. Fields in alphabetical order.
type record struct {
	Arch                   *string     `json:"arch"`
	Build                  string      `json:"build"`
	BuildNumber            int64       `json:"build_number"`
	Channel                *string     `json:"channel"`
	Constrains             []string    `json:"constrains"`
	Depends                []string    `json:"depends"`
	Features               *string     `json:"features"`
	Files                  []string    `json:"files"`
	Fn                     string      `json:"fn"`
	License                *string     `json:"license"`
	LicenseFamily          *string     `json:"license_family"`
	Link                   recordLink  `json:"link"`
	MD5                    *string     `json:"md5"`
	Name                   string      `json:"name"`
	Noarch                 *string     `json:"noarch,omitempty"`
	PathsData              recordPaths `json:"paths_data"`
	Platform               *string     `json:"platform"`
	Purls                  []string    `json:"purls,omitempty"`
	PythonSitePackagesPath *string     `json:"python_site_packages_path,omitempty"`
	SHA256                 string      `json:"sha256"`
	Size                   *int64      `json:"size"`
	Subdir                 string      `json:"subdir"`
	Timestamp              *int64      `json:"timestamp,omitempty"`
	TrackFeatures          string      `json:"track_features"`
	URL                    string      `json:"url"`
	Version                string      `json:"version"`
}

type recordLink struct {
	Source string `json:"source"`
	Type   int    `json:"type"`
}

type recordPaths struct {
	Version int          `json:"paths_version"`
	Paths   []recordPath `json:"paths"`
}

type recordPath struct {
	Path           string `json:"_path"`
	Type           string `json:"path_type"`
	SHA256         string `json:"sha256,omitempty"`
	SHA256InPrefix string `json:"sha256_in_prefix,omitempty"`
	Size           *int64 `json:"size_in_bytes,omitempty"`
	Placeholder    string `json:"prefix_placeholder,omitempty"`
	Mode           string `json:"file_mode,omitempty"`
	NoLink         bool   `json:"no_link,omitempty"`
}

// linkTypeHard is recorded whatever method was used, so that a record's bytes do
// not depend on the file system.
const linkTypeHard = 1

// content is the digest and size of a written file.
type content struct {
	SHA256 string
	Size   int64
}

// recordJSON makes the record of package i. inPrefix tells, by path, the content
// of files that were written (patched and generated ones).
func (p *Plan) recordJSON(i int, inPrefix map[string]content) ([]byte, error) {
	r := newRecord(p.Packages[i].Lock)
	for j := range p.placed[i] {
		pl := &p.placed[i][j]
		if !pl.won {
			continue
		}
		rp, err := p.recordPath(i, pl, inPrefix)
		if err != nil {
			return nil, err
		}
		if pl.Kind != KindDir {
			r.Files = append(r.Files, pl.Path)
		}
		r.PathsData.Paths = append(r.PathsData.Paths, rp)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("record of %s: %w", label(p.Packages[i]), err)
	}
	return buf.Bytes(), nil
}

// recordPath describes one path that package i has in the prefix.
func (p *Plan) recordPath(i int, pl *placed, inPrefix map[string]content) (recordPath, error) {
	rp := recordPath{Path: pl.Path, NoLink: pl.noLink}
	var have content
	switch pl.Kind {
	case KindDir:
		rp.Type = conda.TypeDirectory
	case KindSymlink:
		// The digest in the prefix is of the link's text, as rattler has it.
		sum := sha256.Sum256([]byte(pl.Target))
		rp.Type, have = conda.TypeSoftlink, content{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(pl.Target))}
	case KindFile:
		rp.Type, have = conda.TypeHardlink, content{SHA256: pl.SHA256, Size: pl.Size}
	case KindPatch, KindData:
		rp.Type = conda.TypeHardlink
		if pl.entryPoint {
			rp.Type = "unix_python_entry_point"
		}
		var ok bool
		if have, ok = inPrefix[pl.Path]; !ok {
			return rp, fmt.Errorf("record of %s: %s was not written", label(p.Packages[i]), pl.Path)
		}
	}
	if pl.Kind == KindPatch {
		rp.Placeholder, rp.Mode = pl.Placeholder, "text"
		if pl.Binary {
			rp.Mode = "binary"
		}
	}
	p.recordDigests(i, pl, have, &rp)
	return rp, nil
}

// recordDigests sets the digests and the size: sha256 is what the package says,
// sha256_in_prefix what the prefix has, left out where equal.
func (p *Plan) recordDigests(i int, pl *placed, have content, rp *recordPath) {
	switch {
	case pl.Kind == KindDir:
		return
	case pl.entryPoint:
		rp.SHA256 = have.SHA256
	case pl.recorded != nil:
		rp.SHA256 = pl.recorded.SHA256
	case p.metas[i].HasPaths && pl.Kind != KindSymlink:
		rp.SHA256 = pl.SHA256
	}
	if have.SHA256 != rp.SHA256 {
		rp.SHA256InPrefix = have.SHA256
	}
	size := have.Size
	if pl.Kind == KindSymlink && pl.recorded != nil && pl.recorded.Size != nil {
		size = *pl.recorded.Size
	}
	rp.Size = &size
}

// newRecord fills in what the lock says of a package.
func newRecord(c *lockfile.CondaPackage) *record {
	r := &record{
		Arch: optional(c.Arch), Build: c.Build, BuildNumber: c.BuildNumber, Channel: optional(withoutCredentials(c.Channel)),
		Constrains: nonNil(c.Constrains), Depends: nonNil(c.Depends), Features: optional(c.Features), Files: []string{},
		Fn: c.FileName, License: optional(c.License), LicenseFamily: optional(c.LicenseFamily),
		Link: recordLink{Type: linkTypeHard}, MD5: optional(c.MD5), Name: c.Name, Noarch: optional(c.Noarch),
		PathsData: recordPaths{Version: 1, Paths: []recordPath{}}, Platform: optional(c.OS),
		PythonSitePackagesPath: optional(c.PythonSitePackagesPath), SHA256: c.SHA256, Subdir: c.Subdir,
		TrackFeatures: strings.Join(c.TrackFeatures, " "), URL: withoutCredentials(c.URL), Version: c.Version,
	}
	if c.HasPurls {
		r.Purls = nonNil(c.Purls)
	}
	if c.Size > 0 {
		r.Size = &c.Size
	}
	if c.Timestamp > 0 {
		r.Timestamp = &c.Timestamp
	}
	return r
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
