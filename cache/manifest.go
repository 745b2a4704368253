package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Manifest returns the manifest of the package with this sha256; ErrNotFound if
// the package is not in the store, or was taken in by a program that found less
// in it, so that it has to be taken in again.
func (s *Store) Manifest(sha256 string) (*Manifest, error) {
	if !isDigest(sha256) {
		return nil, fmt.Errorf("package %q: %w: its sha256 is not 64 hex digits", sha256, ErrNotFound)
	}
	if s.absent {
		return nil, fmt.Errorf("package %s: %w", sha256, ErrNotFound)
	}
	path := s.ManifestPath(sha256)
	data, err := readPublished(path)
	if errors.Is(err, os.ErrNotExist) && !errors.Is(err, ErrStore) {
		return nil, fmt.Errorf("package %s: %w", sha256, ErrNotFound)
	}
	if err != nil {
		return nil, storeError("read", path, err)
	}
	m, err := DecodeManifest(data)
	if errors.Is(err, errOldManifest) {
		return nil, fmt.Errorf("package %s: %w: its manifest is of an older version", sha256, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; next: remove the file and take the package in again", path, err)
	}
	if m.SHA256 != sha256 {
		return nil, fmt.Errorf("%w: %s is the manifest of %s; next: remove the file and take the package in again", ErrIntegrity, path, m.SHA256)
	}
	return m, nil
}

// readPublished reads a file that another host may have published a moment ago.
// A network file system remembers for a while that a name was not there;
// opening the directory makes it ask the server. A directory that cannot be
// opened is an ErrStore error.
func readPublished(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		return data, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = dir.Close()
	}
	if err != nil {
		return nil, storeError("look into", filepath.Dir(path), err)
	}
	return os.ReadFile(path)
}

// Staged is a package whose files are in the pool and whose manifest waits in
// tmp/ for a Batch to publish it.
type Staged struct {
	// Manifest as it will be published.
	Manifest *Manifest
	temp     string
}

// Batch publishes the manifests of several packages after one sync. It is for
// one goroutine at a time.
type Batch struct {
	s      *Store
	staged []*Staged
}

// NewBatch returns an empty batch.
func (s *Store) NewBatch() *Batch { return &Batch{s: s} }

// Add takes a package for the next Commit.
func (b *Batch) Add(st *Staged) { b.staged = append(b.staged, st) }

// Commit makes all that was written to the store durable and then publishes the
// manifests added since the last Commit. No reader sees any of them before.
func (b *Batch) Commit(ctx context.Context) error {
	if len(b.staged) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.s.Sync(); err != nil {
		return err
	}
	if err := b.s.mayPublish(); err != nil {
		return err
	}
	for _, st := range b.staged {
		path := b.s.ManifestPath(st.Manifest.SHA256)
		if err := os.Rename(st.temp, path); err != nil {
			return storeError("publish", path, err)
		}
	}
	b.staged = b.staged[:0]
	return syncDir(b.s.PoolDir("packages"))
}

// Discard removes what was added since the last Commit, for a caller that gives
// up. The pool files stay: the next run re-hashes and uses them.
func (b *Batch) Discard() error {
	var errs []error
	for _, st := range b.staged {
		if err := os.Remove(st.temp); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, storeError("remove", st.temp, err))
		}
	}
	b.staged = b.staged[:0]
	return errors.Join(errs...)
}
