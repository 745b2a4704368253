package materialize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
)

// removeTree is os.RemoveAll for a tree of many files, in several directories at
// once: a file system serializes within one of them.
func removeTree(root string) error {
	r := &remover{}
	r.group.SetLimit(max(4, runtime.GOMAXPROCS(0)))
	err := r.files(root)
	if err = errors.Join(err, r.group.Wait()); err == nil {
		err = r.empty()
	}
	if err != nil {
		return fmt.Errorf("%w: remove %s: %w", cache.ErrStore, root, err)
	}
	return nil
}

// remover removes one tree.
type remover struct {
	group errgroup.Group
	mu    sync.Mutex
	// dirs are empty when all is over, those in another one after it.
	dirs []string
}

// files removes what is below dir but for directories, in goroutines of the group as far
// as there are some to be had.
func (r *remover) files(dir string) error {
	r.mu.Lock()
	r.dirs = append(r.dirs, dir)
	r.mu.Unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			err = os.Remove(path)
		case !r.group.TryGo(func() error { return r.files(path) }):
			err = r.files(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// empty removes the directories, the last one of those below each other first.
func (r *remover) empty() error {
	for _, dir := range slices.Backward(r.dirs) {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}
