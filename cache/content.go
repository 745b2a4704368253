package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

// Adder takes contents that were made here, not unpacked, into the pool. Many
// goroutines may use it. Like all of the pool, what it adds is durable only
// after the next Sync, which PublishFiles makes.
type Adder struct {
	s   *Store
	dir string
	n   atomic.Int64
}

// NewAdder returns an Adder. The caller closes it.
func (s *Store) NewAdder() (*Adder, error) {
	dir, err := s.TempDir("add")
	if err != nil {
		return nil, err
	}
	return &Adder{s: s, dir: dir}, nil
}

// Add brings content into the pool, as a file that is not executable, unless it
// is there, and returns its sha256.
func (a *Adder) Add(content []byte) (string, error) {
	digest := digestOf(content)
	if len(content) == 0 {
		return digest, nil // empty content has no pool file
	}
	return digest, a.s.poolWrite(filepath.Join(a.dir, strconv.FormatInt(a.n.Add(1), 10)), content, digest, false)
}

// AddFile is Add for content of this size that is read, and that may be a program.
func (a *Adder) AddFile(content io.Reader, size int64, exec bool) (string, error) {
	if size == 0 {
		return emptySHA256, nil
	}
	return a.s.poolStream(filepath.Join(a.dir, strconv.FormatInt(a.n.Add(1), 10)), content, size, exec)
}

// Close removes what Add left unfinished.
func (a *Adder) Close() error { return storeError("remove", a.dir, os.RemoveAll(a.dir)) }

// NewFile is a file of the store for PublishFiles.
type NewFile struct {
	// Path is absolute and below the store's root.
	Path string
	Data []byte
}

// PublishFiles makes everything that was written to the store durable, these
// files (0444) included, with one sync, and then publishes them, each by one
// rename; what is there is replaced. No reader sees any of them before the sync.
func (s *Store) PublishFiles(ctx context.Context, files []NewFile) (err error) {
	if len(files) == 0 {
		return nil
	}
	tmp, err := s.tempOf(files[0].Path)
	if err != nil {
		return err
	}
	dir, err := s.tempDir(tmp, "publish")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storeError("remove", dir, os.RemoveAll(dir))) }()
	temp := func(i int) string { return filepath.Join(dir, strconv.Itoa(i)) }
	parents := map[string]bool{}
	for i, f := range files {
		if of, err := s.tempOf(f.Path); err != nil {
			return err
		} else if of != tmp {
			return fmt.Errorf("%w: %s and %s cannot be published at once: they lie on two file systems", ErrStore, files[0].Path, f.Path)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := os.WriteFile(temp(i), f.Data, 0o600); err != nil {
			return storeError("write", temp(i), err)
		}
		if err := os.Chmod(temp(i), 0o444); err != nil {
			return storeError("set the mode of", temp(i), err)
		}
		if err := s.own(temp(i)); err != nil {
			return err
		}
		parents[filepath.Dir(f.Path)] = true
	}
	for p := range parents {
		if err := s.MkdirAll(p); err != nil {
			return err
		}
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if err := s.mayPublish(); err != nil {
		return err
	}
	for i, f := range files {
		if err := os.Rename(temp(i), f.Path); err != nil {
			return storeError("publish", f.Path, err)
		}
	}
	for p := range parents {
		if err := syncDir(p); err != nil {
			return err
		}
	}
	return nil
}
