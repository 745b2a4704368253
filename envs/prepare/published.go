package prepare

import (
	"errors"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// published reads the description of an environment that is there in the form that
// is wanted; cache.ErrNotFound if it is not. Who cannot make anything takes it in
// any form: others have chosen it.
func (r *run) published(id, subdir string) (*materialize.Meta, error) {
	if r.deps.Fetcher == nil {
		return materialize.Published(r.deps.Store, id, subdir)
	}
	return materialize.PublishedAs(r.deps.Store, id, subdir, r.deps.Delivery)
}

// derivable reads the description of an environment of which all that is missing can
// be made of what is published; nil = it cannot.
func (r *run) derivable(id, subdir string) (*materialize.Meta, error) {
	if !r.deps.Delivery.WantsImage() {
		return nil, nil
	}
	meta, err := materialize.PublishedAs(r.deps.Store, id, subdir, image.Tree)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	return meta, err
}
