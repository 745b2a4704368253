package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
)

// Bringer gets archives that need a user's credential, for a daemon that has
// none: its Bring is api.Client.Bring.
type Bringer struct {
	own     Own
	once    sync.Once
	warn    sync.Once
	fetcher *cache.Fetcher
}

// NewBringer returns a Bringer with the user's access.
func NewBringer(own Own) *Bringer { return &Bringer{own: own} }

// Bring fetches one archive with the user's mirrors and credentials, verifies it,
// and returns the file that holds it, in a directory of its own that only the user
// can look into and that remove takes away.
func (b *Bringer) Bring(ctx context.Context, req *api.PrepareRequest, n api.Need, report func(api.Event)) (path string, remove func() error, err error) {
	b.once.Do(func() {
		b.fetcher = userFetcher(b.own, func() string { return filepath.Dir(req.LockPath) })
	})
	dir, err := os.MkdirTemp("", "hpcenv-bring-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	store, err := cache.Create(filepath.Join(dir, "store"), cache.Format{Platforms: []string{"noarch"}, OwnerUID: os.Geteuid()})
	if err != nil {
		return "", nil, err
	}
	src := cache.Source{Name: n.Package, URL: n.Location, SHA256: n.SHA256, MD5: n.MD5, Size: n.Size, Format: cache.ArchiveFormat(n.Format)}
	path, _, err = store.Fetch(ctx, b.fetcher, src, func(done, total int64) {
		report(api.Event{Type: api.EventFetch, Package: n.Package, Done: done, Total: total})
	})
	b.warn.Do(func() {
		for _, text := range b.fetcher.Warnings() {
			report(api.Event{Type: api.EventNote, Text: text})
		}
	})
	if errors.Is(err, cache.ErrFetch) {
		err = &fetchError{err: err, from: "this host"}
	}
	return path, remove, err
}
