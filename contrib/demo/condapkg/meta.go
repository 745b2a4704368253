package condapkg

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
)

// Record is what a channel index and a lock file say of an archive. The JSON
// form is repodata.json's.
type Record struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Build       string   `json:"build"`
	BuildNumber int      `json:"build_number"`
	Depends     []string `json:"depends"`
	Constrains  []string `json:"constrains,omitempty"`
	License     string   `json:"license,omitempty"`
	MD5         string   `json:"md5"`
	SHA256      string   `json:"sha256"`
	Size        int64    `json:"size"`
	Subdir      string   `json:"subdir"`
	Noarch      string   `json:"noarch,omitempty"`
	Timestamp   int64    `json:"timestamp,omitempty"`
	// SitePackages is python_site_packages_path (package python only).
	SitePackages string `json:"python_site_packages_path,omitempty"`
}

// Record of the package whose archive has these bytes.
func (p *Package) Record(archive []byte) Record {
	sum, old := sha256.Sum256(archive), md5.Sum(archive)
	return Record{
		Name: p.Name, Version: p.Version, Build: p.Build, BuildNumber: p.BuildNumber,
		Depends: notNil(p.Depends), Constrains: p.Constrains, License: p.License,
		MD5: hex.EncodeToString(old[:]), SHA256: hex.EncodeToString(sum[:]), Size: int64(len(archive)),
		Subdir: p.Subdir, Noarch: p.Noarch, Timestamp: p.Timestamp, SitePackages: p.SitePackages,
	}
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

type indexJSON struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Build        string   `json:"build"`
	BuildNumber  int      `json:"build_number"`
	Depends      []string `json:"depends"`
	Constrains   []string `json:"constrains,omitempty"`
	License      string   `json:"license,omitempty"`
	Subdir       string   `json:"subdir"`
	Arch         *string  `json:"arch"`
	Platform     *string  `json:"platform"`
	Noarch       string   `json:"noarch,omitempty"`
	Timestamp    int64    `json:"timestamp,omitempty"`
	SitePackages string   `json:"python_site_packages_path,omitempty"`
}

type pathJSON struct {
	Path        string `json:"_path"`
	FileMode    string `json:"file_mode,omitempty"`
	NoLink      bool   `json:"no_link,omitempty"`
	Type        string `json:"path_type"`
	Placeholder string `json:"prefix_placeholder,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
	Size        *int64 `json:"size_in_bytes,omitempty"`
}

// infoFiles are the members below info/.
func (p *Package) infoFiles() ([]File, error) {
	idx := indexJSON{
		Name: p.Name, Version: p.Version, Build: p.Build, BuildNumber: p.BuildNumber,
		Depends: notNil(p.Depends), Constrains: p.Constrains, License: p.License, Subdir: p.Subdir,
		Noarch: p.Noarch, Timestamp: p.Timestamp, SitePackages: p.SitePackages,
	}
	if p.Noarch == "" {
		arch, system := "x86_64", "linux"
		if p.Subdir == "linux-aarch64" {
			arch = "aarch64"
		}
		idx.Arch, idx.Platform = &arch, &system
	}
	byPath := make(map[string]*File, len(p.Files))
	for i := range p.Files {
		byPath[p.Files[i].Path] = &p.Files[i]
	}
	list := make([]pathJSON, 0, len(p.Files))
	var names []byte
	for i := range p.Files {
		list = append(list, describe(&p.Files[i], byPath))
		names = append(append(names, p.Files[i].Path...), '\n')
	}
	out := []File{{Path: "info/files", Data: names}}
	add := func(name string, v any) error {
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("package %s: %s: %w", p.Dist(), name, err)
		}
		out = append(out, File{Path: name, Data: append(b, '\n')})
		return nil
	}
	if err := add("info/index.json", idx); err != nil {
		return nil, err
	}
	if err := add("info/paths.json", map[string]any{"paths": list, "paths_version": 1}); err != nil {
		return nil, err
	}
	if err := add("info/about.json", map[string]any{"summary": p.Summary, "license": p.License}); err != nil {
		return nil, err
	}
	if p.Noarch == "python" {
		noarch := map[string]any{"type": "python"}
		if len(p.EntryPoints) > 0 {
			noarch["entry_points"] = p.EntryPoints
		}
		link := map[string]any{"noarch": noarch, "package_metadata_version": 1}
		if err := add("info/link.json", link); err != nil {
			return nil, err
		}
	}
	for _, name := range sortedKeys(p.Licenses) {
		out = append(out, File{Path: "info/licenses/" + name, Data: p.Licenses[name]})
	}
	return out, nil
}

// describe is the paths.json entry of f. For a link, hash and size are those of
// what it finally names inside the package, or of an empty file where that is
// elsewhere (conda's rule).
func describe(f *File, all map[string]*File) pathJSON {
	e := pathJSON{Path: f.Path, Type: "hardlink", NoLink: f.NoLink}
	data := f.Data
	switch {
	case f.Dir:
		e.Type = "directory"
		return e
	case f.Link != "":
		e.Type = "softlink"
		data = nil
		for t, hops := f, 0; t != nil && hops < 16; hops++ {
			if t.Link == "" {
				data = t.Data
				break
			}
			t = all[path.Join(path.Dir(t.Path), t.Link)]
		}
	default:
		if m := f.placeholderMode(); m != "" {
			e.FileMode, e.Placeholder = m, Placeholder
		}
	}
	sum, size := sha256.Sum256(data), int64(len(data))
	e.SHA256, e.Size = hex.EncodeToString(sum[:]), &size
	return e
}
