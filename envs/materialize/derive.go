package materialize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
)

// What is published in one form and wanted in another: an image is made of the tree,
// without the packages. A tree is linked again from the pool, which costs no compiling
// either; where the packages are not at hand any more, it is made of the image
// (derivetree.go).

// MadeImage is an image that nobody sees yet.
type MadeImage struct {
	// Record of it; Path where it lies, on the store's file system.
	Record *image.Record
	Path   string
	dirs   []string // to be removed
}

// Remove removes what is left of making it; after publishing, that is nothing but
// directories.
func (m *MadeImage) Remove() error {
	var errs []error
	for _, dir := range m.dirs {
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("%w: remove %s: %w", cache.ErrStore, dir, err))
		}
	}
	return errors.Join(errs...)
}

// MakeImage makes the image of what has this id, of a finished tree which has this digest
// and so many bytes in its files. The caller removes what is returned, also with an error.
//
// packed (may be nil) is called when the tree is not needed any more.
func MakeImage(ctx context.Context, store *cache.Store, tool *image.Tool, id, tree, digest string, bytes int64, packed func()) (*MadeImage, error) {
	m := &MadeImage{}
	dir, err := store.StoreTempDir("image")
	if err != nil {
		return m, err
	}
	m.dirs, m.Path = append(m.dirs, dir), filepath.Join(dir, id+cache.ImageSuffix)
	job := image.Job{Tree: tree, Digest: digest, Bytes: bytes, Out: m.Path, Packed: packed}
	if store.BuildsApart() {
		if job.Work, err = store.TempDir("image"); err != nil {
			return m, err
		}
		m.dirs = append(m.dirs, job.Work)
	}
	m.Record, err = tool.Build(ctx, job)
	return m, err
}

// images makes images.
func (req *Request) images() *image.Tool {
	if req.Images == nil {
		req.Images = image.NewTool("")
	}
	return req.Images
}

// hasRoom says beforehand, of an environment that is published as an image, whether
// it can be made here: with what tool, and on which disk.
func (req *Request) hasRoom(ctx context.Context, store *cache.Store, p *Plan) error {
	if !req.Delivery.WantsImage() {
		return nil
	}
	if err := req.images().Available(ctx); err != nil {
		return err
	}
	all, written := p.bytes()
	out := filepath.Dir(store.ImagePath(req.Platform, req.ID))
	if !store.BuildsApart() {
		return req.images().Room(out, written+image.Guess(all))
	}
	return errors.Join(req.images().Room(store.Builds(), written+image.Guess(all)), req.images().Room(out, image.Guess(all)))
}

// Bytes are those of all files of the prefix, as far as they are planned.
func (p *Plan) Bytes() int64 {
	all, _ := p.bytes()
	return all
}

// bytes are those of all files of the prefix, as far as they are planned, and of
// those files that are written for it alone.
func (p *Plan) bytes() (all, written int64) {
	for i := range p.Ops {
		switch op := &p.Ops[i]; op.Kind {
		case KindPatch:
			written += op.Size
		case KindData:
			written += int64(len(op.Data)) + p.unknown[op.Path]
		case KindFile:
			if all += op.Size; op.Copy {
				written += op.Size
			}
		}
	}
	return all + written, written
}

// deriveImage adds an image to an environment whose tree is published as have says.
// The tree may be old: what the image holds is compared with what it held when it
// was made.
func deriveImage(ctx context.Context, store *cache.Store, req *Request, have *Meta) (_ *Meta, err error) {
	tree := store.TreePath(req.Platform, req.ID)
	made, err := MakeImage(ctx, store, req.images(), req.ID, tree, have.TreeDigest, have.Bytes, nil)
	defer func() { err = errors.Join(err, made.Remove()) }()
	if err != nil {
		return nil, err
	}
	held, err := ReadImage(ctx, made.Path)
	if err != nil {
		return nil, err
	}
	if got := held.Digest(); got != have.TreeDigest {
		return nil, fmt.Errorf("%w: the tree %s is not as it was made (tree digest %s, was %s), so that no image is made of it; next: hpcenv admin verify %s", cache.ErrIntegrity, tree, got, have.TreeDigest, req.ID)
	}
	meta := *have
	if err := publishImage(store, &meta, made); err != nil {
		return nil, err
	}
	return &meta, nil
}

// publish publishes what was staged, in the forms that are wanted and not there.
// have is what was published before; nil = nothing.
func publish(ctx context.Context, store *cache.Store, req *Request, have, meta *Meta, staging string) (err error) {
	hasImage := have != nil && have.Delivered.WantsImage()
	if hasImage && have.Image.TreeDigest != meta.TreeDigest {
		return fmt.Errorf("%w: made again it has the tree digest %s, and its image %s was made of %s: what a script or a compiler did differs; next: when no job uses the image, remove it, and prepare again",
			cache.ErrIntegrity, meta.TreeDigest, store.ImagePath(req.Platform, req.ID), have.Image.TreeDigest)
	}
	if hasImage {
		meta.Image, meta.Delivered = have.Image, image.Image
	}
	if req.Delivery.WantsImage() && !hasImage {
		var packed func()
		if !req.Delivery.WantsTree() {
			// It goes while the image is hashed and made durable.
			var gone errgroup.Group
			defer func() { err = errors.Join(err, gone.Wait()) }()
			packed = func() { gone.Go(func() error { return removeTree(staging) }) }
		}
		made, err := MakeImage(ctx, store, req.images(), req.ID, staging, meta.TreeDigest, meta.Bytes, packed)
		defer func() { err = errors.Join(err, made.Remove()) }()
		if err != nil {
			return err
		}
		if err := publishImage(store, meta, made); err != nil {
			return err
		}
	} else if err := saveMeta(store, meta); err != nil {
		return err
	}
	if !req.Delivery.WantsTree() {
		return nil
	}
	if err := store.PublishDir(ctx, staging, store.TreePath(req.Platform, req.ID)); err != nil {
		return err
	}
	if meta.Delivered = image.Tree; meta.Image != nil {
		meta.Delivered = image.Both
	}
	return nil
}

// publishImage saves the description, with the image's record, and then publishes the
// image. An image that is there is one that no description knew of: it goes first.
func publishImage(store *cache.Store, meta *Meta, made *MadeImage) error {
	at := store.ImagePath(meta.Platform, meta.ID)
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: remove %s: %w", cache.ErrStore, at, err)
	}
	meta.Image = made.Record
	if err := saveMeta(store, meta); err != nil {
		return err
	}
	if err := store.PublishFile(made.Path, at, 0o444); err != nil {
		return err
	}
	if meta.Delivered == image.Tree {
		meta.Delivered = image.Both
	} else {
		meta.Delivered = image.Image
	}
	return nil
}
