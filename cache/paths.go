package cache

import (
	"path/filepath"
	"strconv"
)

// PrefixRoot is the directory below which prefixes lie: the format's, or in a
// user's own store the store itself.
func (s *Store) PrefixRoot() string {
	if s.format.PrefixRoot != "" {
		return s.format.PrefixRoot
	}
	return s.root
}

// Prefix is the path written into the files of environment id:
// <prefix root>/<id>, or in a user's own store the published tree itself.
func (s *Store) Prefix(platform, id string) string {
	if s.format.PrefixRoot != "" {
		return filepath.Join(s.format.PrefixRoot, id)
	}
	return s.TreePath(platform, id)
}

// TreePath is where the prefix of environment id is published as a tree.
func (s *Store) TreePath(platform, id string) string {
	return filepath.Join(s.root, "trees", platform, id)
}

// ImageSuffix ends the names of images.
const ImageSuffix = ".sqfs"

// ImagePath is where the prefix of environment id is published as one file.
func (s *Store) ImagePath(platform, id string) string {
	return filepath.Join(s.root, "images", platform, id+ImageSuffix)
}

// MetaPath is where what is known of environment id is published.
func (s *Store) MetaPath(id, platform string) string {
	return filepath.Join(s.root, "meta", id, platform+".json")
}

// NeedsPath is where what the files of environment id ask of a node is published.
func (s *Store) NeedsPath(id, platform string) string {
	return filepath.Join(s.root, "meta", id, platform+".needs.json")
}

// LockDir is where a lock with this digest and what belongs to it is kept.
func (s *Store) LockDir(digest string) string {
	return filepath.Join(s.root, "locks", digest)
}

// PoolPath is the pool file of a content. Empty content has none. The digest
// must be 64 hex digits.
func (s *Store) PoolPath(sha256 string, exec bool) string {
	return filepath.Join(s.PoolDir("files"), poolName(sha256, exec))
}

// ArchivePath is where src's archive is published.
func (s *Store) ArchivePath(src Source) string {
	return filepath.Join(s.root, "archives", src.SHA256+"."+string(src.Format))
}

// ManifestPath is where the manifest of the package with this sha256 is published.
func (s *Store) ManifestPath(sha256 string) string {
	return filepath.Join(s.PoolDir("packages"), sha256)
}

// PycPath is where a table of byte-code is published: what the sources of the
// package with sha256 pkg become under the compiler with this id.
func (s *Store) PycPath(compiler, pkg string) string {
	return filepath.Join(s.PoolDir("pyc"), compiler, pkg)
}

// ELFPath is where the facts of the ELF files of the package with this sha256 are
// kept, as that version of the extractor has them.
func (s *Store) ELFPath(extractor int, sha256 string) string {
	return filepath.Join(s.PoolDir("elf"), "v"+strconv.Itoa(extractor), sha256)
}

func (s *Store) tmp(names ...string) string {
	return filepath.Join(append([]string{s.root, "tmp"}, names...)...)
}

// poolName is a pool file's name below pool/files.
func poolName(sha256 string, exec bool) string {
	name := sha256[:2] + "/" + sha256
	if exec {
		name += "x"
	}
	return name
}
