package linkscript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// findEnvironment finds the environment of a site's task on this host: at its prefix, in
// the store's trees, or as an image, which is unpacked into the scratch directory, since
// nobody mounts one for a build account's job.
func (t *Task) findEnvironment(ctx context.Context) error {
	if !t.Script.Site() || t.environment != "" {
		return nil
	}
	is := func(at string) error {
		_, err := os.Stat(filepath.Join(at, "conda-meta", "history"))
		return err
	}
	errs := is(t.Site.EnvPrefix)
	if errs == nil {
		t.environment = t.Site.EnvPrefix
		return nil
	}
	if t.Store != "" && filepath.IsLocal(t.Platform) {
		tree := filepath.Join(t.Store, "trees", t.Platform, t.Site.Environment)
		err := is(tree)
		if err == nil {
			t.environment = tree
			return nil
		}
		errs = errors.Join(errs, err)
		if err = t.unpackEnvironment(ctx); err == nil || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		errs = errors.Join(errs, err)
	}
	return fmt.Errorf("%w: the environment is neither at its prefix nor in the store here (build-agent --store names it): %w", ErrCannotRun, errs)
}

// unpackEnvironment unpacks the environment's image beside the scratch directory's other
// parts, with which it goes.
func (t *Task) unpackEnvironment(ctx context.Context) error {
	var meta struct {
		Image *image.Record `json:"image"`
	}
	data, err := os.ReadFile(filepath.Join(t.Store, "meta", t.Site.Environment, t.Platform+".json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return fmt.Errorf("the environment's description: %w", err)
	}
	path := filepath.Join(t.Store, "images", t.Platform, t.Site.Environment+cache.ImageSuffix)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	if meta.Image == nil {
		return fmt.Errorf("%s: the environment's description does not know of it", path)
	}
	if err := image.Check(f, meta.Image); err != nil {
		return err
	}
	at := filepath.Join(t.Scratch, "environment")
	if err := image.Unpack(ctx, f, meta.Image.Size, at); err != nil {
		return fmt.Errorf("unpack %s: %w", path, err)
	}
	t.environment = at
	return nil
}
