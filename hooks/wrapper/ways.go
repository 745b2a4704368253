package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
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

// imageWay opens the image. An error of class fs.ErrNotExist: there is none.
func (r *resolved) imageWay(o Options, files prepared.Store) (*way, error) {
	format, err := cache.ReadFormat(r.store)
	if err != nil {
		return nil, storeError(r.store, err)
	}
	short := r.meta.ID[:min(8, len(r.meta.ID))]
	f, err := files.OpenImage(r.meta, format.OwnerUID)
	if errors.Is(err, prepared.ErrDamaged) {
		return nil, api.Errorf(api.ExitUnreachable, "the environment's image is not used: %v\nnext: the store's owner looks at it (hpcenv admin verify %s), removes it and prepares it again", err, short)
	}
	if err != nil {
		return nil, storeError(r.store, err)
	}
	w := &way{place: place{Prefix: r.meta.Prefix, Image: f.Name()}, image: f}
	if w.Server, err = imageServer(getenv(o.Env, "PATH")); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if format.PrefixRoot == "" && os.Getuid() == format.OwnerUID {
		// It is this user's to make, and empty. Where it cannot be made, it is made in
		// the namespace.
		_ = os.MkdirAll(filepath.Dir(r.meta.Prefix), 0o755)
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
