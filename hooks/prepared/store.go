package prepared

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// ErrDamaged: a file of the store is there and does not hold what it should.
var ErrDamaged = errors.New("damaged")

// maxFile bounds what is read of one file, in bytes.
const maxFile = 64 << 20

// Store is a store as this host sees it.
type Store struct {
	// Root is its directory.
	Root string
	// Group is the number of the only group that may read the store, which then is a
	// part of the cluster's (Parts); "" = everybody may, or it is the user's own.
	Group string
	// Patient: what is not there is looked for again for half a second, since a
	// network file system may not show yet what was published a moment ago. For
	// callers who know that it must be there.
	Patient bool
	// Near is a directory of this host in which root has put copies of what the store says
	// of environments (NearOf); "" = there is none. What it has is not looked for in the store.
	Near string
	// TreesOnly: an environment that is there as an image only does not count. For a
	// user's own store, of which no image is mounted.
	TreesOnly bool
}

// Environment is a named environment of a lock that was prepared here before.
type Environment struct {
	ID string
	// Platforms (conda subdirs) that the lock has for it; which of them are
	// published is for Published to say.
	Platforms []string
	// Scripts is a digest of the rules for link scripts that the id stands for
	// (lockfile.Index.Scripts).
	Scripts string
	// Pythons is lockfile.Index.Pythons.
	Pythons string
	// Trees are the local source trees that belong to it; they are no part of what is
	// published.
	Trees      []lockfile.SourceTree
	prefixRoot string
}

// UnknownEnvironmentError: the lock is known here and has no environment of that
// name.
type UnknownEnvironmentError struct {
	Name string
	// Has are the names that it has, sorted.
	Has []string
}

func (e *UnknownEnvironmentError) Error() string {
	return fmt.Sprintf("the lock has no environment %q; it has: %s", e.Name, strings.Join(e.Has, ", "))
}

// Environments are those of a lock that have an id, by name. Nil and no error:
// nothing of the lock is prepared here that this release could use. Errors:
// ErrDamaged, or why the store cannot be read.
func (s Store) Environments(lockDigest string) (map[string]*Environment, error) {
	ix, err := s.index(lockDigest)
	if ix == nil || err != nil {
		return nil, err
	}
	out := make(map[string]*Environment, len(ix.Environments))
	for name, env := range ix.Environments {
		if env.ID != "" {
			out[name] = &Environment{ID: env.ID, Platforms: env.Platforms, Scripts: ix.Scripts, Trees: env.Trees, prefixRoot: ix.PrefixRoot}
		}
	}
	return out, nil
}

// Environment looks one up. Nil and no error: preparing makes it, or tells why it
// cannot be made. Errors: *UnknownEnvironmentError, and as Environments has them.
func (s Store) Environment(lockDigest, name string) (*Environment, error) {
	ix, err := s.index(lockDigest)
	if ix == nil || err != nil {
		return nil, err
	}
	env, ok := ix.Environments[name]
	if !ok && ix.Pythons != "" {
		return nil, nil // the index has those only that were asked for
	}
	if !ok {
		return nil, &UnknownEnvironmentError{Name: name, Has: slices.Sorted(maps.Keys(ix.Environments))}
	}
	if env.ID == "" {
		return nil, nil // it has none, for a reason that preparing tells in full
	}
	return &Environment{ID: env.ID, Platforms: env.Platforms, Scripts: ix.Scripts, Pythons: ix.Pythons, Trees: env.Trees, prefixRoot: ix.PrefixRoot}, nil
}

// index reads what was noted of a lock; nil if there is none of this release.
func (s Store) index(lockDigest string) (*lockfile.Index, error) {
	ix := new(lockfile.Index)
	err := s.readJSON(filepath.Join(s.lockDir(lockDigest), "index.json"), ix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ix.Linker != materialize.LinkerVersion {
		return nil, nil // ids of another release
	}
	return ix, nil
}

// Has tells whether an environment is published for a platform: its description
// and its tree or image are there. (Neither is ever without its description; a
// description without them is that of an unfinished run, or of one that is being removed.)
func (s Store) Has(e *Environment, platform string) (bool, error) {
	if _, err := s.stat(s.meta(e.ID, platform)); err != nil {
		return false, unlessAbsent(err)
	}
	trees := filepath.Join(s.Root, "trees", platform)
	_, err := os.Stat(filepath.Join(trees, e.ID))
	if errors.Is(err, fs.ErrNotExist) {
		has, imageErr := s.HasImage(e.ID, platform)
		if has || imageErr != nil {
			return has && !s.TreesOnly, imageErr
		}
		_, err = s.stat(filepath.Join(trees, e.ID))
	}
	if errors.Is(err, fs.ErrNotExist) {
		// Without the directories it is the store that is not all here.
		if _, err := os.Stat(trees); err != nil {
			if _, imagesErr := os.Stat(filepath.Join(s.Root, "images", platform)); imagesErr != nil {
				return false, err
			}
		}
	}
	return err == nil, unlessAbsent(err)
}

// HasImage tells whether the image of an environment is published for a platform.
func (s Store) HasImage(id, platform string) (bool, error) {
	_, err := os.Stat(filepath.Join(s.Root, "images", platform, id+cache.ImageSuffix))
	return err == nil, unlessAbsent(err)
}

func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Published is Meta for an environment that Has finds; fs.ErrNotExist otherwise.
func (s Store) Published(e *Environment, platform string) (*materialize.Meta, error) {
	has, err := s.Has(e, platform)
	if err != nil {
		// Not of the class that says that it is not prepared.
		return nil, fmt.Errorf("not all of it is here: %v", err)
	}
	if !has {
		return nil, fmt.Errorf("environment %s for %s: %w", e.ID, platform, fs.ErrNotExist)
	}
	m, err := s.Meta(e.ID, platform)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(m.Prefix, e.prefixRoot) {
		return nil, fmt.Errorf("%s was made for %s, not below %s: %w", e.ID, m.Prefix, e.prefixRoot, fs.ErrNotExist)
	}
	return m, nil
}

// Meta reads the description of an environment; fs.ErrNotExist if there is none.
// On a node the prefix, not the store's tree, says whether it can be used.
func (s Store) Meta(id, platform string) (*materialize.Meta, error) {
	m := new(materialize.Meta)
	if s.Near != "" {
		near := Store{Near: s.Near}
		if err := near.readJSON(filepath.Join(s.Near, id+NearDescription), m); err == nil && m.Platform == platform {
			return m, nil
		}
		m = new(materialize.Meta)
	}
	if err := s.readJSON(s.meta(id, platform), m); err != nil {
		return nil, err
	}
	return m, nil
}

// Needs is what the files of a published environment ask of a node. Errors are
// needs.Load's: needs.ErrNone of an environment that an earlier release made. Nobody waits
// for them: an environment starts without.
func (s Store) Needs(id, platform string) (*needs.Needs, error) {
	if s.Near != "" {
		if n, err := needs.Load(filepath.Join(s.Near, id+NearNeeds)); err == nil {
			return n, nil
		}
	}
	return needs.Load(s.needs(id, platform))
}

// NeedsHead is the part of Needs that submissions look at. Errors are as there.
func (s Store) NeedsHead(id, platform string) (*needs.Head, error) {
	return needs.LoadHead(s.needs(id, platform))
}

func (s Store) needs(id, platform string) string {
	return filepath.Join(s.Root, "meta", id, platform+".needs.json")
}

func (s Store) meta(id, platform string) string {
	return filepath.Join(s.Root, "meta", id, platform+".json")
}

// SiteBuilds is what the site built for an environment. Most have nothing, so that its
// absence is not waited for.
func (s Store) SiteBuilds(id, platform string) (*sitebuild.Record, error) {
	if s.Near != "" {
		if info, err := os.Stat(filepath.Join(s.Near, id+NearOverlays)); err == nil && info.Size() == 0 {
			return new(sitebuild.Record), nil
		}
	}
	r, err := sitebuild.Read(s.Root, id, platform)
	if err != nil {
		return nil, fmt.Errorf("what the site built for the environment: %w", err)
	}
	return r, nil
}

// Attached is nil if the prefix is there for programs of this host;
// fs.ErrNotExist if it is not.
func (s Store) Attached(prefix string) error {
	_, err := s.stat(filepath.Join(prefix, "conda-meta", "history"))
	return err
}

// Sees is nil if this host sees a path that lies anywhere; fs.ErrNotExist if not.
func (s Store) Sees(path string) error {
	_, err := s.stat(path)
	return err
}

// Lock returns the bytes of a lock that was submitted before.
func (s Store) Lock(digest string) ([]byte, error) {
	return s.read(filepath.Join(s.lockDir(digest), "pixi.lock"))
}

// Activation returns the pinned part of a manifest that is kept with a lock. Its
// digest is for the caller to check.
func (s Store) Activation(lockDigest, digest string) ([]byte, error) {
	if s.Near != "" {
		if b, err := readBounded(filepath.Join(s.Near, NearActivation(digest))); err == nil {
			return b, nil
		}
	}
	return s.read(s.activation(lockDigest, digest))
}

// HasActivation tells whether Activation would find it.
func (s Store) HasActivation(lockDigest, digest string) bool {
	_, err := s.stat(s.activation(lockDigest, digest))
	return err == nil
}

func (s Store) activation(lockDigest, digest string) string {
	return filepath.Join(s.lockDir(lockDigest), "activation", digest+".json")
}

// Description returns what a lock asks of nodes (planning.Description), by its digest,
// unread. An error that it is not there wraps fs.ErrNotExist.
func (s Store) Description(lockDigest, digest string) ([]byte, error) {
	return s.read(s.description(lockDigest, digest))
}

// HasDescription tells whether Description would find it.
func (s Store) HasDescription(lockDigest, digest string) bool {
	_, err := s.stat(s.description(lockDigest, digest))
	return err == nil
}

func (s Store) description(lockDigest, digest string) string {
	return filepath.Join(s.lockDir(lockDigest), "description", digest+".json")
}

// lockDir is where a lock and what belongs to it are kept (lockfile.Index).
func (s Store) lockDir(digest string) string { return filepath.Join(s.Root, "locks", digest) }

func (s Store) readJSON(path string, into any) error {
	data, err := s.read(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is %w: %w", path, ErrDamaged, err)
	}
	return nil
}

func (s Store) read(path string) (data []byte, err error) {
	err = s.again(path, func() error { data, err = readBounded(path); return err })
	return data, err
}

func (s Store) stat(path string) (info fs.FileInfo, err error) {
	err = s.again(path, func() error { info, err = os.Stat(path); return err })
	return info, err
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// Only read from: closing can lose nothing.
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is %w: larger than %d bytes", path, ErrDamaged, maxFile)
	}
	return data, nil
}
