package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// indexVersion is the version of the index's own form.
const indexVersion = 1

const (
	lockName  = "pixi.lock"
	indexName = "index.json"
)

// makeIndex computes the ids of all environments of a lock. An environment has
// an id as soon as it can be installed on one platform; what forbids the others
// is noted by platform. rules is the digest of those by which scripts tells the packages
// whose link scripts are run.
func makeIndex(store *cache.Store, lock *lockfile.Lock, byteCode, rules string, scripts func(map[string]*lockfile.Platform) []string) *lockfile.Index {
	format := store.Format()
	root := store.PrefixRoot()
	index := &lockfile.Index{
		Version: indexVersion, Digest: lock.Digest, Linker: materialize.LinkerVersion, PrefixRoot: root, ByteCode: byteCode, Scripts: rules,
		Environments: make(map[string]lockfile.IndexEnvironment, len(lock.Environments)),
	}
	for _, env := range lock.Environments {
		entry := lockfile.IndexEnvironment{Platforms: env.Subdirs()}
		covered := map[string]*lockfile.Platform{}
		firstProblem := ""
		var trees []*lockfile.Platform
		for _, subdir := range format.Platforms {
			p, err := env.Platform(subdir)
			if err != nil {
				continue // the lock lacks the platform
			}
			covered[subdir] = p
			if err := p.Validate(); err != nil {
				if entry.Problems == nil {
					entry.Problems = map[string]string{}
				}
				entry.Problems[subdir] = err.Error()
				if firstProblem == "" {
					firstProblem = err.Error()
				}
			}
		}
		switch {
		case len(covered) == 0:
			entry.Error = fmt.Sprintf("the lock has it for none of the platforms that this store serves (%v)", format.Platforms)
		case len(entry.Problems) == len(covered):
			entry.Error = firstProblem
		default:
			for _, subdir := range slices.Sorted(maps.Keys(covered)) {
				trees = append(trees, covered[subdir])
			}
			entry.Trees = lockfile.SourceTrees(trees...)
			entry.ID = materialize.ID(format, root, covered, options(byteCode == lockfile.ByteCodeYes, scripts(covered)))
		}
		index.Environments[env.Name] = entry
	}
	return index
}

// options of linking.
func options(byteCode bool, scripts []string) materialize.Options {
	return materialize.Options{NoScripts: true, ByteCode: byteCode, Scripts: scripts}
}

// saveLock keeps the lock's bytes, its index, and what its manifest says. The
// index comes last: where it is, the lock is.
func (r *run) saveLock(ctx context.Context, index *lockfile.Index) (err error) {
	dir := r.deps.Store.LockDir(r.digest)
	if err := r.save(filepath.Join(dir, lockName), r.req.Lock, true); err != nil {
		return err
	}
	if err := r.saveActivations(); err != nil {
		return err
	}
	if index.Pythons != "" {
		release, err := r.accumulate(ctx, index)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	data, err := json.Marshal(index) // maps in key order: the same lock, the same bytes
	if err != nil {
		return fmt.Errorf("lock index: %w", err)
	}
	return r.save(filepath.Join(dir, indexName), append(data, '\n'), false)
}

// saveActivations keeps activations, and the description, that are not there, named by
// their digest.
func (r *run) saveActivations() error {
	if r.req.DryRun {
		return nil
	}
	if len(r.req.Description) > 0 {
		sum := sha256.Sum256(r.req.Description)
		path := filepath.Join(r.deps.Store.LockDir(r.digest), "description", hex.EncodeToString(sum[:])+".json")
		if err := r.save(path, r.req.Description, true); err != nil {
			return err
		}
	}
	dir := filepath.Join(r.deps.Store.LockDir(r.digest), "activation")
	for _, name := range slices.Sorted(maps.Keys(r.req.Activations)) {
		data := r.req.Activations[name]
		sum := sha256.Sum256(data)
		if err := r.save(filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), data, true); err != nil {
			return err
		}
	}
	return nil
}

// save publishes a file of the store unless it is there with this size
// (byDigest: its place names its content) or this content.
func (r *run) save(path string, data []byte, byDigest bool) error {
	if st, err := os.Stat(path); err == nil && st.Size() == int64(len(data)) {
		if byDigest {
			return nil
		}
		if have, err := os.ReadFile(path); err == nil && string(have) == string(data) {
			return nil
		}
	}
	if err := r.deps.Store.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	mode := os.FileMode(0o444)
	if filepath.Base(path) == lockName && CredentialInLock(data) > 0 {
		mode = 0o400 // a user's own store: the lock is for nobody else
	}
	return r.deps.Store.SaveFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// maxActivation bounds one activation in bytes.
const maxActivation = 4 << 20

// checkActivations refuses what could not be read again.
func checkActivations(req *Request) error {
	if n := len(req.Description); n > maxActivation || n > 0 && !json.Valid(req.Description) {
		return fmt.Errorf("%w: the lock's description (%d bytes) is not JSON of at most %d bytes", ErrRequest, n, maxActivation)
	}
	for name, data := range req.Activations {
		if len(data) > maxActivation {
			return fmt.Errorf("%w: activation of %s has %d bytes, at most %d are kept", ErrRequest, name, len(data), maxActivation)
		}
		if !json.Valid(data) {
			return fmt.Errorf("%w: activation of %s is not JSON", ErrRequest, name)
		}
	}
	return nil
}
