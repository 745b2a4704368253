package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// again serves a request of which everything is there, from the lock's index
// and the environments' own descriptions. Nil and no error means: it is not.
func (r *run) again(ctx context.Context, platforms []string) (*Result, error) {
	index, err := readIndex(r.deps.Store, r.digest)
	if index == nil || err != nil {
		return nil, err
	}
	// Who cannot fetch can only tell what is there: it was made by others, whose
	// rules and sandbox are not known here.
	if r.deps.Fetcher != nil && !r.sameOptions(index) {
		return nil, nil
	}
	names := wantedNames(r.req, slices.Sorted(maps.Keys(index.Environments)))
	res := &Result{}
	for _, name := range names {
		env, ok := index.Environments[name]
		if !ok || env.ID == "" {
			return nil, nil // the full way says what is wrong
		}
		for _, subdir := range platforms {
			if !slices.Contains(env.Platforms, subdir) {
				res.Skipped = append(res.Skipped, skippedLine(name, subdir, env.Lacking[subdir]))
				continue
			}
			if _, bad := env.Problems[subdir]; bad {
				return nil, nil
			}
			meta, err := r.published(env.ID, subdir)
			if errors.Is(err, cache.ErrNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			res.Environments = append(res.Environments, Environment{Name: name, Platform: subdir, ID: env.ID, Meta: meta})
		}
	}
	if len(res.Environments) == 0 {
		return nil, nil
	}
	if err := r.saveActivations(); err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, e := range res.Environments {
		for _, p := range e.Meta.Packages {
			kept[p.SHA256] = true
		}
		r.noteScripts(e.Name, e.Platform, e.Meta, false)
		r.noteOverlaps(e.Name, e.Platform, e.Meta)
		if r.deps.Fetcher != nil && !r.req.DryRun { // who cannot fetch only looks
			if err := r.needsOfOld(ctx, e.Name, e.Meta); err != nil {
				return nil, err
			}
		}
		r.progress.send(Event{Type: EventPlan, Environment: e.Name, Platform: e.Platform})
	}
	res.PackagesKept = len(kept)
	r.progress.start(len(kept), len(kept), 0)
	return res, nil
}

// sameOptions tells whether the ids of an index are those that this run would compute.
func (r *run) sameOptions(index *lockfile.Index) bool {
	if index.Scripts != RulesDigest(r.deps.Scripts.Allow) || index.Pythons != r.pythons() {
		return false
	}
	switch index.ByteCode {
	case lockfile.ByteCodeYes:
		// What is published needs no sandbox: it is not looked for.
		return !r.deps.NoByteCode
	case lockfile.ByteCodeNo:
		return !r.sandboxed()
	}
	return true
}

// readIndex returns the index of a lock, or nil if there is none that this
// program would write the same way.
func readIndex(store *cache.Store, digest string) (*lockfile.Index, error) {
	path := filepath.Join(store.LockDir(digest), indexName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: lock index: %w", cache.ErrStore, err)
	}
	index := new(lockfile.Index)
	if err := json.Unmarshal(data, index); err != nil {
		return nil, fmt.Errorf("%w: lock index %s: %w; next: remove the file and prepare again", cache.ErrStore, path, err)
	}
	if index.Version != indexVersion || index.Digest != digest || index.Linker != materialize.LinkerVersion ||
		index.PrefixRoot != store.PrefixRoot() {
		return nil, nil
	}
	return index, nil
}
