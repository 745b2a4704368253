package wrapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// way is one way to have the environment at its prefix, in a namespace.
type way struct {
	place
	// image is its open file, checked; nil = a tree.
	image *os.File
}

// ways are those that there are, the best first: the image, then the tree. The caller
// closes their files. Without any the error says why; else it says what speaks against
// those that are not in the list, and may be nil.
func (r *resolved) ways(o Options) ([]way, error) {
	var out []way
	var against error
	files := prepared.Store{Root: r.store, Group: r.group}
	if r.meta.Image != nil {
		w, err := r.imageWay(o, files)
		if err == nil {
			out = append(out, *w)
		}
		against = err
	}
	trees := filepath.Join(r.store, "trees", o.Platform)
	// In a user's own store a tree is the prefix, and is there or is not.
	_, err := os.Stat(filepath.Join(trees, r.meta.ID, "conda-meta", "history"))
	if err == nil && filepath.Join(trees, r.meta.ID) != r.meta.Prefix {
		out = append(out, way{place: place{Prefix: r.meta.Prefix, Trees: trees}})
	}
	if len(out) == 0 && against == nil {
		against = storeError(r.store, err)
	}
	return out, against
}

// builtWays are how what the site built for the environment is attached beside it, each
// in the form in which it is there. The caller closes their files.
func (r *resolved) builtWays(o Options) (out []way, err error) {
	if r.built == nil {
		return nil, nil
	}
	files := prepared.Store{Root: r.store, Group: r.group}
	for _, e := range r.built.Builds {
		prefix := filepath.Join(filepath.Dir(r.meta.Prefix), e.Overlay)
		if e.State != sitebuild.Built || slices.ContainsFunc(out, func(w way) bool { return w.Prefix == prefix }) {
			continue
		}
		w := &way{place: place{Prefix: prefix, Trees: filepath.Join(r.store, "trees", o.Platform)}}
		_, err := os.Lstat(filepath.Join(w.Trees, e.Overlay))
		if errors.Is(err, fs.ErrNotExist) {
			var overlay *sitebuild.Overlay
			if overlay, err = sitebuild.ReadOverlay(r.store, e.Overlay, o.Platform); err == nil {
				w, err = openWay(o, files, &materialize.Meta{ID: e.Overlay, Platform: o.Platform, Prefix: prefix, Image: overlay.Image})
			}
		}
		if err != nil {
			err = fmt.Errorf("what the site built for the environment (%s) cannot be attached: %w", e.Name, err)
			for _, w := range out {
				if w.image != nil {
					err = errors.Join(err, w.image.Close())
				}
			}
			return nil, err
		}
		out = append(out, *w)
	}
	return out, nil
}

// imageWay opens the image. An error of class fs.ErrNotExist: there is none.
func (r *resolved) imageWay(o Options, files prepared.Store) (*way, error) {
	return openWay(o, files, r.meta)
}

// openWay opens the image that meta describes.
func openWay(o Options, files prepared.Store, meta *materialize.Meta) (*way, error) {
	format, err := cache.ReadFormat(files.Root)
	if err != nil {
		return nil, storeError(files.Root, err)
	}
	short := meta.ID[:min(8, len(meta.ID))]
	f, err := files.OpenImage(meta, format.OwnerUID)
	if errors.Is(err, prepared.ErrDamaged) {
		return nil, api.Errorf(api.ExitUnreachable, "the environment's image is not used: %v\nnext: the store's owner looks at it (hpcenv admin verify %s), removes it and prepares it again", err, short)
	}
	if err != nil {
		return nil, storeError(files.Root, err)
	}
	w := &way{place: place{Prefix: meta.Prefix, Image: f.Name()}, image: f}
	if w.Server, err = imageServer(getenv(o.Env, "PATH")); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if format.PrefixRoot == "" && os.Getuid() == format.OwnerUID {
		// It is this user's to make, and empty. Where it cannot be made, it is made in
		// the namespace.
		_ = os.MkdirAll(filepath.Dir(meta.Prefix), 0o755)
	}
	return w, nil
}

// imageServer finds a program that shows an image without root, and sees that FUSE is there for it.
func imageServer(path string) (string, error) {
	var missing error
	if err := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK); err != nil {
		missing = fmt.Errorf("/dev/fuse cannot be used here (%w)\nnext: ask the administrator to load the module fuse and to let everybody use /dev/fuse (mode 0666)", err)
	}
	if missing == nil {
		var p string
		if p, missing = squashfuse.Find(filepath.SplitList(path)...); missing == nil {
			return p, nil
		}
		missing = fmt.Errorf("%w\nnext: ask the administrator to install squashfuse (0.1.103 or newer, with libfuse 3)", missing)
	}
	return "", api.Errorf(api.ExitUnreachable, "the environment is an image (one file), and without root this host cannot mount it: %v; run it in a job (sbatch, srun --env-lock); or have it as a tree: hpcenv prepare --delivery both in a store of your own, delivery: both in hpcenvd.yaml", missing)
}
