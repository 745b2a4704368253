package helper

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/clientconf"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// submitStore is a store as a submission sees it: read-only files.
type submitStore struct {
	root string
	// own: a user's own store, not the cluster's.
	own bool
}

// openStore opens the cluster's store, or the user's own where no cluster store
// is configured.
func (s *submission) openStore(w *wanted) (*submitStore, error) {
	st := &submitStore{root: s.store}
	if s.store == "" {
		root, err := clientconf.OwnStore(os.Getenv)
		if err != nil {
			return nil, refuse(api.ExitUnreachable, "%w; next: set HPCENV_STORE to a directory of your own", err)
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
	return st, nil
}

// lookup says what of an environment is published for the platforms (conda subdirs)
// that are needed of it, in the store or in the part of one of the user's groups:
// where most of it is, everybody's first.
func (st *submitStore) lookup(w *wanted, subdirs []string) (*readiness, error) {
	best, err := st.lookupIn(prepared.Store{Root: st.root, TreesOnly: st.own}, w, subdirs)
	if err != nil || best.ready() {
		return best, err
	}
	parts, err := prepared.Store{Root: st.root}.Parts()
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the store: %w", err)
	}
	for _, part := range parts {
		r, err := st.lookupIn(part, w, subdirs)
		if errors.Is(err, fs.ErrPermission) {
			continue // the storage knows less of this user's groups
		}
		if err != nil {
			return nil, err
		}
		if r.ready() {
			return r, nil
		}
		if len(r.platforms) > len(best.platforms) {
			best = r
		}
	}
	return best, nil
}

func (st *submitStore) lookupIn(files prepared.Store, w *wanted, subdirs []string) (*readiness, error) {
	r := readiness{store: files}
	env, err := files.Environment(w.digest, w.name)
	var unknown *prepared.UnknownEnvironmentError
	switch {
	case errors.As(err, &unknown):
		return nil, refuse(api.ExitUsage, "%s (%s) has no environment %q; it has: %s; next: --env-name=NAME with one of these", w.shown, short(w.digest), w.name, strings.Join(unknown.Has, ", "))
	case errors.Is(err, prepared.ErrDamaged):
		return nil, refuse(api.ExitUnreachable, "the store's index of the lock %s: %w; next: hpcenv prepare", short(w.digest), err)
	case err != nil:
		return nil, refuse(api.ExitUnreachable, "the store's index of the lock: %w", err)
	case env == nil:
		r.missing = subdirs
		return &r, nil // preparing makes it, or tells in full why it cannot be
	}
	r.id, r.lockPlatforms, r.trees = env.ID, env.Platforms, env.Trees
	r.stored = w.actDigest == "" || w.inline() != nil || files.HasActivation(w.digest, w.actDigest)
	for _, p := range subdirs {
		if !slices.Contains(env.Platforms, p) {
			continue // a wish that has no Python there
		}
		has, err := files.Has(env, p)
		if err != nil {
			return nil, refuse(api.ExitUnreachable, "the store: %w", err)
		}
		if has {
			built, err := files.SiteBuilds(env.ID, p)
			if err != nil {
				return nil, refuse(api.ExitUnreachable, "the store: %w", err)
			}
			has = !built.Pending() // who prepares waits for it
		}
		if has {
			r.platforms = append(r.platforms, p)
		} else {
			r.missing = append(r.missing, p)
		}
	}
	if len(r.platforms)+len(r.missing) == 0 {
		return nil, refuse(api.ExitNoFit, "no node of the cluster fits: %s of %s (%s) is there for %s, the nodes are %s; next: hpcenv prepare -e %s says what the others lack",
			w.name, w.shown, short(w.digest), strings.Join(env.Platforms, ", "), strings.Join(subdirs, ", "), shellword.Quote(w.name))
	}
	return &r, nil
}

// lockBytes returns the lock of an inherited pin, which was submitted before.
// files is where the lock of an inherited pin lies.
func (st *submitStore) files(w *wanted) prepared.Store {
	return prepared.Store{Root: st.root}.Part(w.group)
}

func (st *submitStore) lockBytes(w *wanted) ([]byte, error) {
	b, err := prepared.Store{Root: st.root}.Part(w.group).Lock(w.digest)
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the job's lock %s is not in the store any more: %w; next: name the lock with --env-lock", short(w.digest), err)
	}
	return b, nil
}
