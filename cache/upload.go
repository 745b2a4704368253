package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ImportArchive takes the bytes of src's archive from r, e.g. from a client
// that fetched them with credentials of its own, verifies size and digests, and
// publishes the archive where Fetch looks for it. Bytes that differ are an
// ErrIntegrity error; r's own errors come back as they are.
func (s *Store) ImportArchive(ctx context.Context, r io.Reader, src Source) (err error) {
	if err := src.check(); err != nil {
		return err
	}
	if ok, err := s.hasArchive(src); ok || err != nil {
		return err
	}
	dir, err := s.tempDir(s.tmp(), "import")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = storeError("remove", dir, rerr)
		}
	}()
	temp := filepath.Join(dir, "archive")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storeError("create", temp, err)
	}
	d := newDigester(src)
	limit := src.Size
	if limit == 0 {
		limit = maxArchive
	}
	// One byte more tells a longer one apart without taking all of it.
	in := io.LimitReader(&contextReader{ctx: ctx, r: r}, limit+1)
	_, err = io.Copy(io.MultiWriter(&storeWriter{f: f, path: temp}, d), in)
	if err == nil {
		err = d.check(src)
	}
	if err != nil {
		return fmt.Errorf("package %s: %w", src.Name, errors.Join(err, f.Close()))
	}
	if err := seal(f, 0o444); err != nil {
		return storeError("write", temp, err)
	}
	if err := s.own(temp); err != nil {
		return err
	}
	path := s.ArchivePath(src)
	if err := s.mayPublish(); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return storeError("publish", path, err)
	}
	return syncDir(filepath.Dir(path))
}
