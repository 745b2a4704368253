package sitebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// fixedTime is the time of everything in an overlay, as in environments.
var fixedTime = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// ErrRefused is the class of errors about what a build made.
var ErrRefused = errors.New("what it made is refused")

// whole refuses changes that are no tree by themselves: an overlay has nothing that was
// there beforehand.
func whole(changes []linkscript.Change) error {
	dirs := map[string]bool{".": true}
	for _, c := range changes {
		switch {
		case c.Kind == linkscript.Gone:
			return fmt.Errorf("%w: it removed %q, which was not there", ErrRefused, c.Path)
		case !dirs[path.Dir(c.Path)]:
			return fmt.Errorf("%w: %q lies in no directory", ErrRefused, c.Path)
		case c.Kind == linkscript.Dir:
			dirs[c.Path] = true
		}
	}
	if len(changes) == 0 {
		return fmt.Errorf("%w: it left nothing in the overlay ($OVERLAY)", ErrRefused)
	}
	return nil
}

// publish makes an overlay of what a build made, which was verified on its way here
// (linkscript.Verify): all files are written anew by this account, with its modes.
func (b *Builder) publish(ctx context.Context, store *cache.Store, build *Build, e Entry, changes []linkscript.Change) (err error) {
	if err := whole(changes); err != nil {
		return err
	}
	staging, err := store.TempDir("overlay")
	if err != nil {
		return err
	}
	defer func() {
		// After success the directory has been renamed away.
		err = errors.Join(err, os.RemoveAll(staging))
	}()
	o := Overlay{Version: recordVersion, ID: e.Overlay, Platform: build.Platform, Prefix: filepath.Join(build.Root, e.Overlay), Environment: build.Environment, Build: e}
	root, err := os.OpenRoot(staging)
	if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	defer root.Close() // a directory
	for _, c := range changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := place(root, c); err != nil {
			return fmt.Errorf("%w: overlay %s: %w", cache.ErrStore, c.Path, err)
		}
		o.Files++
		o.Bytes += c.Size
	}
	if err := setTimes(staging, changes); err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	if o.TreeDigest, err = materialize.TreeDigest(staging); err != nil {
		return err
	}
	return b.publishForms(ctx, store, &o, staging)
}

// publishForms publishes a staged overlay as the Builder's Delivery says. The description
// comes first: without it nobody takes what is there for an overlay.
func (b *Builder) publishForms(ctx context.Context, store *cache.Store, o *Overlay, staging string) (err error) {
	var made *materialize.MadeImage
	if b.Delivery.WantsImage() {
		tool := b.Images
		if tool == nil {
			tool = image.NewTool("")
		}
		made, err = materialize.MakeImage(ctx, store, tool, o.ID, staging, o.TreeDigest, o.Bytes, nil)
		defer func() { err = errors.Join(err, made.Remove()) }()
		if err != nil {
			return fmt.Errorf("image of overlay %s: %w", o.ID, err)
		}
		o.Image = made.Record
	}
	if err := saveJSON(store, MetaPath(store.Root(), o.ID, o.Platform), o); err != nil {
		return err
	}
	if made != nil {
		at := store.ImagePath(o.Platform, o.ID)
		// One that is there is of an earlier description, and not of this one.
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: remove %s: %w", cache.ErrStore, at, err)
		}
		if err := store.PublishFile(made.Path, at, 0o444); err != nil {
			return err
		}
	}
	if !b.Delivery.WantsTree() {
		return nil
	}
	return store.PublishDir(ctx, staging, store.TreePath(o.Platform, o.ID))
}

// place writes one path; directories come before what lies in them.
func place(root *os.Root, c linkscript.Change) error {
	switch c.Kind {
	case linkscript.Dir:
		if err := root.Mkdir(c.Path, 0o755); err != nil {
			return err
		}
		return root.Chmod(c.Path, 0o755)
	case linkscript.Link:
		return root.Symlink(c.Target, c.Path)
	case linkscript.File:
		return placeFile(root, c)
	}
	return fmt.Errorf("is of kind %q", c.Kind)
}

func placeFile(root *os.Root, c linkscript.Change) (err error) {
	src, err := os.Open(c.Content)
	if err != nil {
		return err
	}
	defer src.Close() // only read
	dst, err := root.OpenFile(c.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	n, err := io.Copy(dst, src)
	if err == nil && n != c.Size {
		err = fmt.Errorf("has %d bytes, not %d", n, c.Size)
	}
	if err != nil {
		return err
	}
	mode := os.FileMode(0o444)
	if c.Exec {
		mode = 0o555
	}
	return dst.Chmod(mode)
}

// setTimes gives files and directories the fixed time, what lies deeper first.
func setTimes(staging string, changes []linkscript.Change) error {
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Kind == linkscript.Link {
			continue
		}
		if err := os.Chtimes(filepath.Join(staging, changes[i].Path), fixedTime, fixedTime); err != nil {
			return err
		}
	}
	return os.Chtimes(staging, fixedTime, fixedTime)
}
