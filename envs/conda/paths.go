package conda

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/cache"
)

// pathEntry is one path of a package as its metadata describes it, whichever
// file that came from.
type pathEntry struct {
	Path        string
	Type        string // TypeHardlink, TypeSoftlink, TypeDirectory; "" = as the archive has it
	SHA256      string
	Size        *int64
	Placeholder string
	Binary      bool
	NoLink      bool
}

// pathsJSON is info/paths.json.
type pathsJSON struct {
	Version *int `json:"paths_version"`
	Paths   []struct {
		Path        string  `json:"_path"`
		Type        *string `json:"path_type"`
		SHA256      *string `json:"sha256"`
		Size        *int64  `json:"size_in_bytes"`
		Placeholder *string `json:"prefix_placeholder"`
		Mode        *string `json:"file_mode"`
		NoLink      *bool   `json:"no_link"`
	} `json:"paths"`
}

// parsePaths reads info/paths.json. Paths come back clean and relative; what
// leaves the prefix is refused.
func parsePaths(data []byte) ([]pathEntry, error) {
	var doc pathsJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("info/paths.json: %w: %w", err, cache.ErrIntegrity)
	}
	if doc.Version == nil || *doc.Version != 1 {
		got := "none"
		if doc.Version != nil {
			got = fmt.Sprint(*doc.Version)
		}
		return nil, fmt.Errorf("info/paths.json: paths_version is %s, this program reads 1: %w", got, cache.ErrIntegrity)
	}
	out := make([]pathEntry, 0, len(doc.Paths))
	for i, p := range doc.Paths {
		name, err := cleanPath(p.Path)
		if err != nil {
			return nil, fmt.Errorf("info/paths.json, entry %d: %w", i, err)
		}
		e := pathEntry{Path: name, Type: TypeHardlink, Size: p.Size}
		if p.Type != nil {
			e.Type = *p.Type
		}
		switch e.Type {
		case TypeHardlink, TypeSoftlink, TypeDirectory:
		default:
			return nil, fmt.Errorf("info/paths.json, %s: path_type is %q; known are hardlink, softlink and directory: %w",
				name, e.Type, cache.ErrIntegrity)
		}
		if p.SHA256 != nil {
			e.SHA256 = strings.ToLower(*p.SHA256)
		}
		if p.NoLink != nil {
			e.NoLink = *p.NoLink
		}
		if p.Placeholder != nil && *p.Placeholder != "" {
			mode := "text"
			if p.Mode != nil {
				mode = *p.Mode
			}
			if err := e.setPlaceholder(*p.Placeholder, mode); err != nil {
				return nil, fmt.Errorf("info/paths.json, %s: %w", name, err)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// setPlaceholder checks and sets the placeholder and its mode.
func (e *pathEntry) setPlaceholder(placeholder, mode string) error {
	for _, r := range placeholder {
		if r < 0x20 || r == 0x7f {
			return fmt.Errorf("prefix_placeholder %q holds a control character: %w", placeholder, cache.ErrUnsafe)
		}
	}
	switch mode {
	case "text":
	case "binary":
		e.Binary = true
	default:
		return fmt.Errorf("file_mode is %q; known are text and binary: %w", mode, cache.ErrIntegrity)
	}
	e.Placeholder = placeholder
	return nil
}

// cleanPath makes a path of package metadata clean, and refuses what does not
// stay below the prefix.
func cleanPath(p string) (string, error) {
	if p == "" || strings.ContainsAny(p, "\x00\n\t\\") || strings.HasPrefix(p, "/") {
		return "", fmt.Errorf("path %q is not a relative path of a package: %w", p, cache.ErrUnsafe)
	}
	if !utf8.ValidString(p) {
		// Records are JSON, which would name another file.
		return "", fmt.Errorf("path %q is not UTF-8: %w", p, cache.ErrIntegrity)
	}
	for _, part := range strings.Split(p, "/") {
		if part == ".." {
			return "", fmt.Errorf("path %q leaves the prefix: %w", p, cache.ErrUnsafe)
		}
	}
	c := path.Clean(p)
	if c == "." {
		return "", fmt.Errorf("path %q names the prefix itself: %w", p, cache.ErrUnsafe)
	}
	return c, nil
}
