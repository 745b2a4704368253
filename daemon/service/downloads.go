package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hpcenv/hpcenv/cache"
)

// Downloads gives the archives of locks as files: those that a store has, else
// fetched into one.
type Downloads struct {
	// have (may be nil) is a store that is only read.
	have    *cache.Store
	into    *cache.Store
	fetcher *cache.Fetcher
}

// OpenDownloads looks into the store have ("" = none), which is another's, and
// fetches into the store at into, which is the user's own and is made if it is not
// there. Fetching is done as the user; project is the lock's directory.
func OpenDownloads(have, into string, own Own, project string) (*Downloads, error) {
	d := &Downloads{fetcher: userFetcher(own, func() string { return project })}
	if have != "" {
		store, err := cache.Open(have)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		d.have = store
	}
	store, err := cache.Open(into)
	if errors.Is(err, fs.ErrNotExist) {
		store, err = cache.Create(into, cache.Format{
			Version: cache.FormatVersion, Platforms: ownPlatforms, OwnerUID: os.Geteuid(),
		})
	}
	if err != nil {
		return nil, err
	}
	d.into = store
	return d, nil
}

// Kept is the file that holds src's archive; "" if none does.
func (d *Downloads) Kept(src cache.Source) (string, error) {
	for _, store := range []*cache.Store{d.have, d.into} {
		if store == nil {
			continue
		}
		path := store.ArchivePath(src)
		st, err := os.Stat(path)
		if err == nil && (src.Size == 0 || st.Size() == src.Size) {
			return path, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s: %w", cache.ErrStore, path, err)
		}
	}
	return "", nil
}

// Fetch brings src's archive into the user's own store and returns its file.
// progress (may be nil) is told how many bytes are there.
func (d *Downloads) Fetch(ctx context.Context, src cache.Source, progress func(done, total int64)) (string, error) {
	path, _, err := d.into.Fetch(ctx, d.fetcher, src, progress)
	if errors.Is(err, cache.ErrFetch) {
		err = &fetchError{err: err, from: "this host"}
	}
	return path, err
}
