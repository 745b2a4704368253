package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// formatFile is the name of the file that makes a directory a store.
const formatFile = "FORMAT"

// MaxPrefix is the greatest length of a prefix in bytes: with it, the line
// "#!<prefix>/bin/python3.12" keeps within the 127 bytes that every kernel takes.
const MaxPrefix = 110

// idLen is the length of an environment id.
const idLen = 32

// PrefixLimit returns an error of class ErrStore if prefix is longer than
// MaxPrefix; the message tells how long its root may be.
func PrefixLimit(prefix string) error {
	if len(prefix) <= MaxPrefix {
		return nil
	}
	root := filepath.Dir(prefix)
	return fmt.Errorf("%w: prefix root too long: %s has %d bytes, at most %d are allowed "+
		"(the first line of scripts names the environment's interpreter and may have 127 bytes); choose a shorter prefix root or store path",
		ErrStore, root, len(root), MaxPrefix-(len(prefix)-len(root)))
}

// normal returns f in the one form that is stored, or why it cannot be.
func (f Format) normal() (Format, error) {
	if f.Version == 0 {
		f.Version = FormatVersion
	}
	if f.Version != FormatVersion {
		return f, fmt.Errorf("%w: layout version %d cannot be created, only %d can", ErrStore, f.Version, FormatVersion)
	}
	if len(f.Platforms) == 0 {
		return f, fmt.Errorf("%w: a store needs at least one platform", ErrStore)
	}
	f.Platforms = slices.Compact(slices.Sorted(slices.Values(f.Platforms)))
	for _, p := range f.Platforms {
		if !safeName(p) {
			return f, fmt.Errorf("%w: %q cannot be a platform's name", ErrStore, p)
		}
	}
	f.Clusters = slices.Compact(slices.Sorted(slices.Values(f.Clusters)))
	if f.PrefixRoot == "" {
		return f, nil
	}
	if !filepath.IsAbs(f.PrefixRoot) || filepath.Clean(f.PrefixRoot) != f.PrefixRoot || f.PrefixRoot == "/" {
		return f, fmt.Errorf("%w: prefix root %q must be a clean absolute path below /", ErrStore, f.PrefixRoot)
	}
	return f, PrefixLimit(filepath.Join(f.PrefixRoot, strings.Repeat("0", idLen)))
}

func (f Format) equal(g Format) bool {
	return f.Version == g.Version && f.PrefixRoot == g.PrefixRoot && f.OwnerUID == g.OwnerUID &&
		slices.Equal(f.Platforms, g.Platforms) && slices.Equal(f.Clusters, g.Clusters)
}

// ReadFormat reads what a store says of itself, or a group's part of one, without
// opening it. Errors are of class ErrStore.
func ReadFormat(root string) (Format, error) { return readFormat(root) }

// readFormat reads the FORMAT of the store at root.
func readFormat(root string) (Format, error) {
	var f Format
	path := filepath.Join(root, formatFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, fmt.Errorf("%w: %s has no file %s: %w; check that the store is mounted on this host and that its path is right, or create it",
			ErrStore, root, formatFile, cause(err))
	}
	if err != nil {
		return f, storeError("read", path, err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("%w: %s is not a store's format: %w; restore it from another store of the same site", ErrStore, path, err)
	}
	switch {
	case f.Version > FormatVersion:
		return f, fmt.Errorf("%w: %s has layout version %d, this program knows up to %d; use a newer hpcenv", ErrStore, root, f.Version, FormatVersion)
	case f.Version < 1:
		return f, fmt.Errorf("%w: %s has layout version %d, which never was; restore the file", ErrStore, path, f.Version)
	}
	return f, nil
}

// safeName reports whether s can be one component of a path in the store.
func safeName(s string) bool {
	if s == "" || len(s) > 200 || s[0] == '.' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-+@", rune(c)) {
			return false
		}
	}
	return true
}
