package wrapper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// choose tells what of what the site built this node uses.
func (r *resolved) choose(ctx context.Context) sitebuild.Choice {
	return r.built.Choose(func() []string {
		f, _ := facts.Load(ctx, facts.RecordPath) // without a record they are read now
		return f.ActiveNetworks()
	})
}

// site are the variables of what the site built for the environment and this node; what
// is not there is said.
func (r *resolved) site(ctx context.Context, o Options) []activation.Op {
	if r.built == nil {
		return nil
	}
	c := r.choose(ctx)
	for _, e := range c.Lacking {
		fmt.Fprintln(o.Stderr, "hpcenv: note:", sitebuild.Problem(e, r.store, o.Platform))
	}
	return c.Ops(r.meta.Prefix)
}

// overlays are the ways to have what the site built for the environment beside it. The
// caller closes their files.
func (r *resolved) overlays(ctx context.Context, o Options) (out []way, err error) {
	if r.built == nil || len(r.built.Builds) == 0 {
		return nil, nil
	}
	defer func() {
		if err != nil {
			out, err = nil, errors.Join(err, closeWays(out))
		}
	}()
	trees, root := filepath.Join(r.store, "trees", o.Platform), filepath.Dir(r.meta.Prefix)
	for _, e := range r.choose(ctx).Use {
		w := way{place: place{Prefix: filepath.Join(root, e.Overlay)}}
		if _, err := os.Stat(filepath.Join(trees, e.Overlay)); err == nil {
			w.Trees = trees
		} else if err := r.overlayImage(o, e.Overlay, &w); err != nil {
			return out, fmt.Errorf("what the site built for the environment (%s): %w", e.Name, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// overlayImage opens the image of an overlay.
func (r *resolved) overlayImage(o Options, id string, w *way) error {
	overlay, err := sitebuild.ReadOverlay(r.store, id, o.Platform)
	if err != nil {
		return storeError(r.store, err)
	}
	format, err := cache.ReadFormat(r.store)
	if err != nil {
		return storeError(r.store, err)
	}
	if w.Server, err = imageServer(getenv(o.Env, "PATH")); err != nil {
		return err
	}
	files := prepared.Store{Root: r.store, Group: r.group}
	w.image, err = files.OpenImage(&materialize.Meta{ID: id, Platform: o.Platform, Image: overlay.Image}, format.OwnerUID)
	if errors.Is(err, prepared.ErrDamaged) {
		return api.Errorf(api.ExitUnreachable, "its image is not used: %v\nnext: the store's owner looks at it (hpcenv admin verify %.8s), removes it and prepares it again", err, r.meta.ID)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return api.Errorf(api.ExitUnreachable, "it is gone: %v\nnext: hpcenv prepare", err)
	}
	if err != nil {
		return storeError(r.store, err)
	}
	w.Image = w.image.Name()
	return nil
}

func closeWays(ways []way) error {
	var errs []error
	for _, w := range ways {
		if w.image != nil {
			errs = append(errs, w.image.Close())
		}
	}
	return errors.Join(errs...)
}
