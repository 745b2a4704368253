package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

func digest(what string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", what, n))
	return hex.EncodeToString(sum[:])
}

// fill makes the store: descriptions, images of no content, and, on the build directory,
// manifests.
func fill(dir string) error {
	s, err := cache.Create(filepath.Join(dir, "store"), cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/hpcenv/e", Platforms: []string{"linux-64", "linux-aarch64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		return err
	}
	if err := s.UseLocal(filepath.Join(dir, "state", "build")); err != nil {
		return err
	}
	for p := range packages {
		m := &cache.Manifest{Version: 2, SHA256: digest("package", p), MD5: digest("md5", p)[:32], Size: 1000, Format: cache.FormatConda}
		for f := range files {
			m.Entries = append(m.Entries, cache.Entry{Path: fmt.Sprintf("lib/%06d", f), Type: cache.EntryFile, SHA256: digest("file", p*files+f), Size: 100})
		}
		data, err := m.Encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.ManifestPath(m.SHA256), data, 0o444); err != nil {
			return err
		}
	}
	for e := range environments {
		id := digest("environment", e)[:32]
		for _, platform := range s.Format().Platforms {
			m := &materialize.Meta{
				Version: materialize.MetaVersion, ID: id, Platform: platform, Environment: "default", LockDigest: digest("lock", e/2), Prefix: s.Prefix(platform, id),
				TreeDigest: digest("tree", e), Files: 30_000, Dirs: 3000, Bytes: 4e9, BytesNew: 1e8, Image: &image.Record{Size: 1e9, SHA256: digest("image", e)},
			}
			for i := range ofEach {
				p := (e*31 + i*83) % packages
				m.Packages = append(m.Packages, materialize.MetaPackage{
					Name: fmt.Sprintf("package%d", p%3000), Version: fmt.Sprintf("1.%d", p), Build: "h0123456_0", SHA256: digest("package", p),
					URL: fmt.Sprintf("https://conda.example/linux-64/package%d-1.%d-h0123456_0.conda", p%3000, p), Size: 1_000_000,
				})
			}
			data, err := json.Marshal(m)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(s.MetaPath(id, platform)), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(s.MetaPath(id, platform), data, 0o644); err != nil {
				return err
			}
			if err := os.WriteFile(s.ImagePath(platform, id), nil, 0o444); err != nil {
				return err
			}
		}
	}
	return nil
}
