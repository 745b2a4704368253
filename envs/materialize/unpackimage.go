package materialize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// WithUnpacked unpacks the image of a published environment into a directory beside
// the pool, calls do with it, and removes it.
func WithUnpacked(ctx context.Context, store *cache.Store, meta *Meta, do func(root string) error) (err error) {
	path := store.ImagePath(meta.Platform, meta.ID)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	defer f.Close() // only read
	if err := image.Check(f, meta.Image); err != nil {
		return err
	}
	img, err := image.Open(f, meta.Image.Size)
	if err != nil {
		return fmt.Errorf("%w: image %s: %w", cache.ErrIntegrity, path, err)
	}
	dir, err := store.TempDir("unpacked")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeTree(dir)) }()
	root := filepath.Join(dir, "tree")
	err = img.Walk(ctx, func(e *image.Entry, content io.Reader) error {
		// Names in an image are checked, and a link has nothing below it.
		at := filepath.Join(root, filepath.FromSlash(e.Path))
		switch {
		case e.Mode.IsDir():
			return os.Mkdir(at, 0o755)
		case content == nil:
			return os.Symlink(e.Target, at)
		}
		return writeOut(at, e, content)
	})
	if err != nil {
		return fmt.Errorf("%w: unpack %s: %w", cache.ErrStore, path, err)
	}
	return do(root)
}

// writeOut makes a file.
func writeOut(at string, e *image.Entry, content io.Reader) error {
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(e.Mode.Perm()), f.Close())
}
