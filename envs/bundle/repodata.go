package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// repodata is a channel's index of one subdir (CEP 36).
type repodata struct {
	Info struct {
		Subdir string `json:"subdir"`
	} `json:"info"`
	Packages      map[string]json.RawMessage `json:"packages"`
	PackagesConda map[string]json.RawMessage `json:"packages.conda"`
	Removed       []string                   `json:"removed"`
	Version       int                        `json:"repodata_version"`
}

// repodataOf is the index of one subdir, as conda and pixi-unpack read it; sizes
// are those of archives by sha256.
func repodataOf(subdir string, packages []*lockfile.CondaPackage, sizes map[string]int64) ([]byte, error) {
	r := repodata{Packages: map[string]json.RawMessage{}, PackagesConda: map[string]json.RawMessage{}, Removed: []string{}, Version: 1}
	r.Info.Subdir = subdir
	for _, p := range packages {
		if p.Subdir != subdir {
			continue
		}
		record, err := recordOf(p, sizes[p.SHA256])
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(p.FileName, ".conda") {
			r.PackagesConda[p.FileName] = record
		} else {
			r.Packages[p.FileName] = record
		}
	}
	return asJSON(r)
}

// recordOf is the lock's record without what says where the archive was, and with
// its size.
func recordOf(p *lockfile.CondaPackage, size int64) (json.RawMessage, error) {
	var record map[string]json.RawMessage
	if err := json.Unmarshal(p.Record(), &record); err != nil {
		return nil, fmt.Errorf("the record of %s: %w", p.Dist(), err)
	}
	delete(record, "url")
	delete(record, "channel")
	delete(record, "fn")
	set := func(key string, v any) error {
		data, err := json.Marshal(v)
		record[key] = data
		return err
	}
	if err := set("size", size); err != nil {
		return nil, err
	}
	// In an index a text with blanks, which is all that conda reads.
	if len(p.TrackFeatures) > 0 {
		if err := set("track_features", strings.Join(p.TrackFeatures, " ")); err != nil {
			return nil, err
		}
	}
	return json.Marshal(record)
}

// environmentFile is environment.yml: each package by version and build, from the
// bundle's own channel. Names, versions and builds of packages are plain text in
// YAML.
func environmentFile(p *lockfile.Platform) []byte {
	var b bytes.Buffer
	b.WriteString("channels:\n  - ./" + channelDir + "\n  - nodefaults\ndependencies:\n")
	if p.Python != nil {
		// It is in no channel: conda says so, rather than make an environment without.
		fmt.Fprintf(&b, "  - python=%s\n", p.Python.Version)
	}
	for _, c := range p.Conda {
		fmt.Fprintf(&b, "  - %s=%s=%s\n", c.Name, c.Version, c.Build)
	}
	wheels := p.Installed()
	if len(wheels) == 0 {
		return b.Bytes()
	}
	b.WriteString("  - pip:\n    - --no-index\n    - --find-links ./" + pypiDir + "\n")
	for _, w := range wheels {
		fmt.Fprintf(&b, "    - %s==%s\n", w.Name, w.Version)
	}
	return b.Bytes()
}
