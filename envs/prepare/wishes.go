package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	pytarget "github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
)

// nameWishes makes the names of a request canonical, if its lock names no
// environments: then they are wishes.
func (r *run) nameWishes() (err error) {
	if r.python = project.OpenPython("", r.req.Lock); r.python == nil {
		return nil
	}
	r.req.Environments, err = r.python.Names(r.req.Environments, r.req.All)
	r.req.All = false
	return err
}

// parse reads the lock; of one that names no Python, the environments that are
// wanted.
func (r *run) parse() (*lockfile.Lock, error) {
	if r.python == nil {
		return lockfile.Parse(r.req.Lock)
	}
	source, err := r.python.Source()
	if err != nil {
		return nil, err
	}
	var lock *lockfile.Lock
	lock, r.made, err = pyenv.MakeAll(source, r.req.Environments, r.deps.Store.Format().Platforms, r.deps.Python)
	return lock, err
}

// lacking says why an environment of the lock does not have a platform; "" = there
// is no more to say than that.
func (r *run) lacking(name, subdir string) string {
	if m := r.made[name]; m != nil {
		return m.Lacking[subdir]
	}
	return ""
}

// pythons is lockfile.Index.Pythons of this run.
func (r *run) pythons() string {
	if r.python == nil {
		return ""
	}
	offer := r.deps.Python
	if offer == nil {
		offer = &pyenv.Offer{}
	}
	return offer.Digest()
}

// noteWishes puts into the index what is known of environments that a lock does not
// name itself.
func (r *run) noteWishes(index *lockfile.Index) {
	index.Pythons = r.pythons()
	for name, m := range r.made {
		e := index.Environments[name]
		data, err := json.Marshal(m.Offer)
		if err != nil {
			panic(err) // texts and booleans alone
		}
		e.Python, e.Lacking = data, m.Lacking
		index.Environments[name] = e
	}
}

// accumulate adds the environments that the store's index of the lock has to index,
// if they were made in the same way. Until release nobody else does so.
func (r *run) accumulate(ctx context.Context, index *lockfile.Index) (release func() error, err error) {
	release, err = r.deps.Store.Lock(ctx, "index-"+r.digest, nil)
	if err != nil {
		return nil, err
	}
	before, err := readIndex(r.deps.Store, r.digest)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	if before != nil && before.Pythons == index.Pythons && before.ByteCode == index.ByteCode && before.Scripts == index.Scripts {
		for name, e := range before.Environments {
			if _, new := index.Environments[name]; !new {
				index.Environments[name] = e
			}
		}
	}
	return release, nil
}

// parseAgain reads the kept lock of a published environment; one that names no
// Python with those that were taken for it.
func parseAgain(store *cache.Store, meta *materialize.Meta, data []byte) (*lockfile.Lock, error) {
	if project.OpenPython("", data) == nil {
		return lockfile.Parse(data)
	}
	index, err := readIndex(store, meta.LockDigest)
	if err != nil {
		return nil, err
	}
	if index == nil || index.Environments[meta.Environment].Python == nil {
		return nil, errors.New("which Python it was made with is no longer noted")
	}
	offer := new(pyenv.Offer)
	if err := json.Unmarshal(index.Environments[meta.Environment].Python, offer); err != nil {
		return nil, fmt.Errorf("which Python it was made with: %w", err)
	}
	source, err := pytarget.Parse(data, nil)
	if err != nil {
		return nil, err
	}
	lock, _, err := pyenv.MakeAll(source, []string{meta.Environment}, store.Format().Platforms, offer)
	return lock, err
}
