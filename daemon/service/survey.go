package service

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// Entry is one published environment of one platform, with what it takes of the store.
type Entry struct {
	api.Environment
	// Packages of it.
	PackageList []api.Package
	// StoreBytes and StoreInodes are what it takes beyond what it shares with others:
	// its image, or its tree's own files and directories, and its records.
	StoreBytes, StoreInodes int64
	// Stamp changes when its description or the form of its publication does.
	Stamp string
}

// records are the inodes of an environment's descriptions: two files and, of the first
// platform, their directory.
const records = 3

// Survey calls visit for each environment that is published in the store and in all its
// parts. Where known returns the stamp that one has, its description is not read, and e
// is nil. An environment whose description cannot be read is reported as broken, and the
// survey goes on. Errors are those of listing, of class cache.ErrStore, and visit's.
func (s *Service) Survey(ctx context.Context, known func(id, platform string, group *int) string, visit func(id, platform string, group *int, e *Entry) error, broken func(id, platform string, err error)) error {
	parts, err := s.parts(nil)
	if err != nil {
		return err
	}
	for _, part := range parts {
		var group *int
		if gid, ok := part.Group(); ok {
			group = &gid
		}
		for _, platform := range part.Format().Platforms {
			ids, err := idsIn(part, platform)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				e, err := entry(part, id, platform, known(id, platform, group))
				if errors.Is(err, cache.ErrNotFound) {
					continue // removed meanwhile, or what the site built for another
				}
				if err != nil {
					broken(id, platform, err)
					continue
				}
				if err := visit(id, platform, group, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Entry reads one environment of the store or of a group's part of it; nil = it has the
// stamp known. The error is of class cache.ErrNotFound if it is not there.
func (s *Service) Entry(part *cache.Store, id, platform string) (*Entry, error) {
	return entry(part, id, platform, "")
}

func entry(part *cache.Store, id, platform, known string) (*Entry, error) {
	stamp, err := stampOf(part, id, platform)
	if err != nil {
		return nil, err
	}
	if stamp == known {
		return nil, nil
	}
	m, err := materialize.Published(part, id, platform)
	if err != nil {
		if sitebuild.IsOverlay(part, id, platform) {
			return nil, fmt.Errorf("%s is a site's build: %w", id, cache.ErrNotFound)
		}
		return nil, err
	}
	e := &Entry{Environment: environment(described{m, part}), PackageList: m.Packages, Stamp: stamp, StoreInodes: records}
	if m.Delivered.WantsImage() {
		e.StoreBytes, e.StoreInodes = m.Image.Size, e.StoreInodes+1
	}
	if m.Delivered.WantsTree() {
		e.StoreBytes += m.BytesNew
		if m.Cost != nil {
			e.StoreInodes += int64(m.Cost.Inodes)
		} else {
			e.StoreInodes += int64(m.Dirs + m.Links)
		}
	}
	return e, nil
}

// stampOf looks at an environment without reading it.
func stampOf(part *cache.Store, id, platform string) (string, error) {
	st, err := os.Stat(part.MetaPath(id, platform))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	stamp := "none"
	if err == nil {
		stamp = fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano())
	}
	for _, path := range []string{part.TreePath(platform, id), part.ImagePath(platform, id)} {
		if _, err := os.Lstat(path); err == nil {
			stamp += " 1"
		} else if errors.Is(err, os.ErrNotExist) {
			stamp += " 0"
		} else {
			return "", fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
	}
	return stamp, nil
}
