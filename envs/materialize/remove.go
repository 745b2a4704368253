package materialize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
)

// removeTree is os.RemoveAll for a tree of many files, in several directories at
// once: a file system serializes within one of them.
func removeTree(root string) error {
	var g errgroup.Group
	g.SetLimit(max(4, runtime.GOMAXPROCS(0)))
	err := removeFiles(&g, root)
	if err = errors.Join(err, g.Wait()); err == nil {
		err = os.RemoveAll(root) // directories are left
	}
	if err != nil {
		return fmt.Errorf("%w: remove %s: %w", cache.ErrStore, root, err)
	}
	return nil
}

// removeFiles removes what is below dir but for directories, in goroutines of g as far
// as there are some to be had.
func removeFiles(g *errgroup.Group, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			err = os.Remove(path)
		case !g.TryGo(func() error { return removeFiles(g, path) }):
			err = removeFiles(g, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
