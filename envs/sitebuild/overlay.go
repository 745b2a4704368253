package sitebuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// Overlay describes a published overlay (meta/<overlay id>/<platform>.overlay.json).
type Overlay struct {
	Version  int    `json:"version"`
	ID       string `json:"id"`
	Platform string `json:"platform"`
	// Prefix is where it lies on every node, Environment the id of what it is for.
	Prefix      string `json:"prefix"`
	Environment string `json:"environment"`
	// TreeDigest is that of environments (materialize.TreeDigest).
	TreeDigest string `json:"tree_digest"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
	// Image is its published image; nil = there is none.
	Image *image.Record `json:"image,omitempty"`
	// Build is of what it was built.
	Build Entry `json:"build"`
}

// MetaPath is where an overlay's description lies below a store's root.
func MetaPath(root, id, platform string) string {
	return filepath.Join(root, "meta", id, platform+".overlay.json")
}

// ReadOverlay reads the description of an overlay; fs.ErrNotExist if there is none.
func ReadOverlay(root, id, platform string) (*Overlay, error) {
	path := MetaPath(root, id, platform)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, err
	}
	o := new(Overlay)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if o.Version != recordVersion || o.ID != id || o.Platform != platform {
		return nil, fmt.Errorf("%s is of version %d and describes %q for %q; this program reads version %d", path, o.Version, o.ID, o.Platform, recordVersion)
	}
	return o, nil
}

// Published tells whether an overlay is there: its description and its tree, or the image
// that it describes.
func Published(store *cache.Store, id, platform string) (bool, error) {
	o, err := ReadOverlay(store.Root(), id, platform)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	tree, img, err := o.forms(store)
	return tree || img, err
}

// forms tells in which forms an overlay is published.
func (o *Overlay) forms(store *cache.Store) (tree, img bool, err error) {
	there := func(path string) (bool, error) {
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
		return true, nil
	}
	if tree, err = there(store.TreePath(o.Platform, o.ID)); err == nil && o.Image != nil {
		img, err = there(store.ImagePath(o.Platform, o.ID))
	}
	return tree, img, err
}

// IsOverlay tells whether a tree of the store is an overlay: it has the description of
// one.
func IsOverlay(store *cache.Store, id, platform string) bool {
	_, err := os.Lstat(MetaPath(store.Root(), id, platform))
	return err == nil
}
