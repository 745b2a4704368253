//go:build linux

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/daemon/catalog"
	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// compareEvery is the time between two comparisons of the index with the store, which
// look at three names per environment: what somebody removed by hand is seen then.
const compareEvery = 6 * time.Hour

// openCatalog opens the index of what the service publishes.
func openCatalog(ctx context.Context, conf *config.Config, svc *service.Service, log *slog.Logger) (*catalog.Catalog, error) {
	path := conf.IndexPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	c, err := catalog.Open(ctx, path, svc, log)
	if err != nil {
		return nil, err
	}
	svc.UseCatalog(c)
	return c, nil
}

// compare makes the index what the store is.
func compare(ctx context.Context, c *catalog.Catalog, log *slog.Logger) error {
	n, err := c.Reconcile(ctx)
	if err != nil {
		return fmt.Errorf("the index was not compared with the store; nothing is collected until it is: %w", err)
	}
	if n.Read+n.Gone+n.Broken > 0 {
		log.Info("the index was compared with the store", "read", n.Read, "gone", n.Gone, "same", n.Same, "broken", n.Broken)
	}
	return nil
}
