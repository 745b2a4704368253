package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// settle makes the file at path durable and returns its sha256 and size; both at once.
func settle(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	defer f.Close() // only read
	var both errgroup.Group
	both.Go(func() error {
		if err := f.Sync(); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("%w: write %s: %w", cache.ErrStore, path, err)
		}
		return nil
	})
	sum, size, err = hashFile(ctx, path)
	return sum, size, errors.Join(err, both.Wait())
}
