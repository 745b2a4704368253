package helper

import (
	"encoding/json"
	"errors"
	"github.com/hpcenv/hpcenv/daemon/api"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// submitStore is a store as a submission sees it: read-only files.
type submitStore struct {
	root string
	// own: a user's own store, not the cluster's.
	own bool
	// platforms that the cluster's nodes have, by the newest inventory; nil if
	// none was taken yet.
	platforms []string
}

// openStore opens the cluster's store, or the user's own where no cluster store
// is configured.
func (s *submission) openStore(w *wanted) (*submitStore, error) {
	st := &submitStore{root: s.store}
	if s.store == "" {
		root, err := ownStore()
		if err != nil {
			return nil, err
		}
		st.root = root
	}
	f, err := cache.Open(st.root)
	switch {
	case err == nil:
		// HPCENV_STORE may name a cluster's store too.
		st.own = f.Format().PrefixRoot == ""
	case s.store == "" && errors.Is(err, fs.ErrNotExist):
		st.own = true // it will be made
	default:
		return nil, refuse(api.ExitUnreachable, "%w", err)
	}
	platforms, err := st.inventoryPlatforms()
	if err != nil {
		return nil, err
	}
	st.platforms = platforms
	return st, nil
}

// ownStore is where a user's own store lies.
func ownStore() (string, error) {
	if dir := os.Getenv("HPCENV_STORE"); dir != "" {
		return filepath.Abs(dir)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", refuse(api.ExitUnreachable, "no store is configured and %w; next: set HPCENV_STORE", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "hpcenv"), nil
}

// inventoryPlatforms reads which platforms the cluster's nodes have.
func (st *submitStore) inventoryPlatforms() ([]string, error) {
	dir := filepath.Join(st.root, "inventory")
	current, err := os.ReadFile(filepath.Join(dir, "current"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the cluster's inventory: %w", err)
	}
	name := strings.TrimSpace(string(current))
	b, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)+".json"))
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the cluster's inventory: %w", err)
	}
	var inv struct {
		Nodes []struct {
			Platform string `json:"platform"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(b, &inv); err != nil {
		return nil, refuse(api.ExitUnreachable, "the cluster's inventory %s is damaged: %w", name, err)
	}
	var platforms []string
	for _, n := range inv.Nodes {
		if n.Platform != "" && !slices.Contains(platforms, n.Platform) {
			platforms = append(platforms, n.Platform)
		}
	}
	slices.Sort(platforms)
	return platforms, nil
}

// lookup says what of the wanted environment is published.
func (st *submitStore) lookup(w *wanted) (*readiness, error) {
	var r readiness
	b, err := os.ReadFile(filepath.Join(lockDir(st.root, w.digest), "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return &r, nil
	}
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the store's index of the lock: %w", err)
	}
	var ix lockfile.Index
	if err := json.Unmarshal(b, &ix); err != nil {
		return nil, refuse(api.ExitUnreachable, "the store's index of the lock %s is damaged: %w; next: hpcenv prepare", short(w.digest), err)
	}
	if ix.Linker != materialize.LinkerVersion {
		return &r, nil // ids of another release; preparing makes today's
	}
	env, ok := ix.Environments[w.name]
	if !ok {
		return nil, refuse(api.ExitUsage, "%s (%s) has no environment %q; it has: %s; next: --env-name=NAME with one of these", w.shown, short(w.digest), w.name, environmentNames(&ix))
	}
	if env.ID == "" {
		// Preparing tells the reason in full, with every entry.
		return &r, nil
	}
	r.id, r.lockPlatforms, r.trees = env.ID, env.Platforms, env.Trees
	r.stored = w.actDigest == "" || w.inline() != nil || st.hasActivation(w)
	if st.platforms == nil {
		r.stored = false // no inventory yet: preparing takes one
	}
	known := false
	for _, p := range st.platforms {
		if !slices.Contains(env.Platforms, p) {
			continue
		}
		known = true
		if st.published(env.ID, p) {
			r.platforms = append(r.platforms, p)
		} else {
			r.missing = append(r.missing, p)
		}
	}
	if st.platforms != nil && !known {
		return nil, refuse(api.ExitNoFit, "no node of the cluster fits: %s of %s (%s) is locked for %s, the nodes are %s; next: add a platform to the manifest and run `pixi lock`",
			w.name, w.shown, short(w.digest), strings.Join(env.Platforms, ", "), strings.Join(st.platforms, ", "))
	}
	return &r, nil
}

// published: the record and the tree are there (a tree is never without its
// record, and removal takes the tree first).
func (st *submitStore) published(id, platform string) bool {
	if _, err := os.Stat(filepath.Join(st.root, "meta", id, platform+".json")); err != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(st.root, "trees", platform, id))
	return err == nil
}

func (st *submitStore) hasActivation(w *wanted) bool {
	_, err := os.Stat(filepath.Join(lockDir(st.root, w.digest), "activation", w.actDigest+".json"))
	return err == nil
}

// lockBytes returns a lock that was submitted before.
func (st *submitStore) lockBytes(digest string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(lockDir(st.root, digest), "pixi.lock"))
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the job's lock %s is not in the store any more: %w; next: name the lock with --env-lock", short(digest), err)
	}
	return b, nil
}
