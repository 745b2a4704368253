package sitebuild

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Verify reads the overlays of an environment on a platform, in all forms in which they
// are published, and returns a line for each that is not as it was when it was published.
// Errors: the record cannot be read, and the context's.
func Verify(ctx context.Context, store *cache.Store, id, platform string) (damage []string, err error) {
	rec, err := Read(store.Root(), id, platform)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for _, e := range rec.Builds {
		if e.State != Built {
			continue
		}
		o, err := ReadOverlay(store.Root(), e.Overlay, platform)
		if err != nil {
			damage = append(damage, fmt.Sprintf("%s: site build %s: its description cannot be read: %v; remove it, and prepare again", store.TreePath(platform, e.Overlay), e.Name, err))
			continue
		}
		tree, img, err := o.forms(store)
		if err != nil {
			return nil, err
		}
		say := func(at, what string) {
			damage = append(damage, fmt.Sprintf("%s: site build %s: %s; remove it, and prepare again", at, e.Name, what))
		}
		if at := store.TreePath(platform, e.Overlay); tree || !img {
			if what := o.treeDiffers(at); what != "" {
				say(at, what)
			}
		}
		if at := store.ImagePath(platform, e.Overlay); img {
			what, err := o.imageDiffers(ctx, at)
			if err != nil {
				return nil, err
			}
			if what != "" {
				say(at, what)
			}
		}
	}
	return damage, nil
}

// treeDiffers tells how an overlay's tree is not what its description says; "" = it is.
func (o *Overlay) treeDiffers(tree string) string {
	is, err := materialize.TreeDigest(tree)
	if err != nil {
		return err.Error()
	}
	if is != o.TreeDigest {
		return fmt.Sprintf("its tree digest is %s, not %s", is, o.TreeDigest)
	}
	return ""
}

// imageDiffers is treeDiffers for its image.
func (o *Overlay) imageDiffers(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close() // only read
	if err := image.Check(f, o.Image); err != nil {
		return err.Error(), nil
	}
	sum, err := image.Hash(ctx, f)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return err.Error(), nil
	}
	if sum != o.Image.SHA256 {
		return fmt.Sprintf("its sha256 is %s, it was published with %s", sum, o.Image.SHA256), nil
	}
	held, err := materialize.ReadImage(ctx, path)
	if errors.Is(err, cache.ErrIntegrity) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if is := held.Digest(); is != o.TreeDigest {
		return fmt.Sprintf("the tree digest of what it holds is %s, not %s", is, o.TreeDigest), nil
	}
	return "", nil
}
