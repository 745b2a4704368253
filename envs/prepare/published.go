package prepare

import (
	"errors"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// published reads the description of an environment that is there in the form that
// is wanted; cache.ErrNotFound if it is not. Who cannot make anything takes it in
// any form: others have chosen it.
func (r *run) published(id, subdir string) (*materialize.Meta, error) {
	m, err := r.asIs(id, subdir)
	if !errors.Is(err, cache.ErrNotFound) || r.deps.Recover == nil || r.req.DryRun {
		return m, err
	}
	back, rerr := r.deps.Recover(r.deps.Store, id, subdir)
	if rerr != nil {
		return nil, rerr
	}
	if back {
		return r.asIs(id, subdir)
	}
	return nil, err
}

// asIs is published, of what is there now.
func (r *run) asIs(id, subdir string) (*materialize.Meta, error) {
	if r.deps.Fetcher == nil {
		return materialize.Published(r.deps.Store, id, subdir)
	}
	return materialize.PublishedAs(r.deps.Store, id, subdir, r.deps.Delivery)
}

// derivable reads the description of an environment of which all that is missing is made
// of what is published; nil = it is not. An image is made of a tree always. A tree is
// rather linked from the pool, and made of the image only where a package is neither
// there nor in archives/: nothing is fetched for what is here.
func (r *run) derivable(t target) (*materialize.Meta, error) {
	meta, err := materialize.Published(r.deps.Store, t.id, t.subdir)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	if err != nil || meta.Delivered.WantsTree() {
		return meta, err
	}
	needs := archives(t.platform)
	if r.byteCode {
		needs = append(needs, compilerPackages(t.compiler)...)
	}
	for _, p := range needs {
		if has, err := r.atHand(p); err != nil {
			return nil, err
		} else if !has {
			return meta, nil
		}
	}
	return nil, nil
}

// atHand tells whether a package can be had of the store alone.
func (r *run) atHand(p locked) (bool, error) {
	_, err := r.deps.Store.Manifest(p.sha256())
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, cache.ErrNotFound) {
		return false, err
	}
	src, err := r.source(p)
	if err != nil {
		return false, err
	}
	return r.deps.Store.HasArchive(src)
}
