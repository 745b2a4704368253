package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// verifyImage hashes the file, which must be the one that was published, and reads
// what it holds, as verifyTree reads a tree. Of a file that cannot be read as an
// image only the damage is told.
func verifyImage(ctx context.Context, store *cache.Store, meta *materialize.Meta, plan *materialize.Plan, noPlan error) (*Verification, error) {
	v := &Verification{Delivery: image.Image, Root: store.ImagePath(meta.Platform, meta.ID), MetaDigest: meta.TreeDigest}
	if err := v.checkFile(ctx, store, meta.Image); err != nil {
		return nil, err
	}
	var static activation.Static
	tree, err := materialize.ImageActivation(ctx, v.Root, func(root string) (err error) {
		static, err = activation.FromTree(root, store.Prefix(meta.Platform, meta.ID))
		return err
	})
	if errors.Is(err, cache.ErrIntegrity) {
		v.Damage = append(v.Damage, err.Error()+"; remove it")
		v.NoPlan = "the image cannot be read"
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	if meta.Image.TreeDigest != meta.TreeDigest {
		v.Damage = append(v.Damage, fmt.Sprintf("%s: it says that the image was made of the tree %s, and that the tree is %s; remove it with the image, and prepare again", store.MetaPath(meta.ID, meta.Platform), meta.Image.TreeDigest, meta.TreeDigest))
	}
	return v, v.compare(ctx, store, meta, tree, plan, noPlan, func() (activation.Static, error) { return static, nil })
}

// checkFile notes what is wrong with the image as a file.
func (v *Verification) checkFile(ctx context.Context, store *cache.Store, rec *image.Record) (err error) {
	f, err := os.Open(v.Root)
	if err != nil {
		return fmt.Errorf("%w: open %s: %w", cache.ErrStore, v.Root, err)
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: look at %s: %w", cache.ErrStore, v.Root, err)
	}
	damage := func(format string, args ...any) {
		v.Damage = append(v.Damage, fmt.Sprintf(format, args...)+"; remove it")
	}
	if err := image.Check(f, rec); errors.Is(err, cache.ErrIntegrity) {
		damage("%v", err)
	} else if err != nil {
		return err
	}
	sum, err := image.Hash(ctx, f)
	if err != nil {
		return fmt.Errorf("%w: read %s: %w", cache.ErrStore, v.Root, err)
	}
	if sum != rec.SHA256 {
		damage("%s has the sha256 %s, it was published with %s", v.Root, sum, rec.SHA256)
	}
	if what := materialize.OddFile(st, uint32(store.Format().OwnerUID)); what != "" {
		v.Differences = append(v.Differences, materialize.Difference{Path: ".", What: what})
	}
	return nil
}
