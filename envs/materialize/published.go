package materialize

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// Published reads the Meta of an environment that is published in any form;
// cache.ErrNotFound if it is in none. Meta.Delivered says in which.
func Published(store *cache.Store, id, platform string) (*Meta, error) {
	treeAt, imageAt := store.TreePath(platform, id), store.ImagePath(platform, id)
	tree, err := there(treeAt)
	if err != nil {
		return nil, err
	}
	img, err := there(imageAt)
	if err != nil {
		return nil, err
	}
	if !tree && !img {
		return nil, fmt.Errorf("environment %s for %s: %w", id, platform, cache.ErrNotFound)
	}
	remove := treeAt
	if !tree {
		remove = imageAt
	}
	m, err := readMeta(store, id, platform, remove)
	if err != nil {
		return nil, err
	}
	switch img = img && m.Image != nil; {
	case tree && img:
		m.Delivered = image.Both
	case tree:
		m.Delivered = image.Tree
	case img:
		m.Delivered = image.Image
	default:
		// No mount could tell whether the image is the right one.
		return nil, fmt.Errorf("environment %s for %s: %w (its image is there, and its description does not know of it)", id, platform, cache.ErrNotFound)
	}
	return m, nil
}

// PublishedAs is Published for an environment that is published at least as d says;
// cache.ErrNotFound if it is not.
func PublishedAs(store *cache.Store, id, platform string, d image.Delivery) (*Meta, error) {
	m, err := Published(store, id, platform)
	if err == nil && !m.delivers(d) {
		return nil, fmt.Errorf("environment %s for %s: %w as %s, only as %s", id, platform, cache.ErrNotFound, d, m.Delivered)
	}
	return m, err
}

// delivers tells whether all that d asks for is published.
func (m *Meta) delivers(d image.Delivery) bool {
	return (!d.WantsTree() || m.Delivered.WantsTree()) && (!d.WantsImage() || m.Delivered.WantsImage())
}

func there(path string) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("%w: look at %s: %w", cache.ErrStore, path, err)
	}
	return true, nil
}

// readMeta reads the description of what is published at one of its places, which
// has to go if the description is not right.
func readMeta(store *cache.Store, id, platform, at string) (*Meta, error) {
	path := store.MetaPath(id, platform)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: environment %s is published but its %s cannot be read: %w; next: remove %s and prepare again", cache.ErrStore, id, path, err, at)
	}
	var m Meta
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; next: remove %s and prepare again", cache.ErrStore, path, err, at)
	}
	if m.ID != id || m.Platform != platform {
		return nil, fmt.Errorf("%w: %s describes another environment, %q for %q; next: remove %s and prepare again", cache.ErrStore, path, m.ID, m.Platform, at)
	}
	if m.Version != MetaVersion {
		return nil, fmt.Errorf("%w: %s is of version %d, this program reads %d; use the program that the store's owner uses", cache.ErrStore, path, m.Version, MetaVersion)
	}
	return &m, nil
}
