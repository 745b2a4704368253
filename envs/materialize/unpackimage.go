package materialize

import (
	"context"
	"errors"
	"fmt"
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
	dir, err := store.TempDir("unpacked")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeTree(dir)) }()
	root := filepath.Join(dir, "tree")
	if err := image.Unpack(ctx, f, meta.Image.Size, root); err != nil {
		return fmt.Errorf("%w: unpack %s: %w", cache.ErrStore, path, err)
	}
	return do(root)
}
