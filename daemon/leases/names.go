package leases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/handover"
)

// Names returns the names that keep environments, sorted.
func (k *Keeper) Names() ([]handover.Name, error) {
	root := filepath.Join(k.opts.Store.Root(), "names")
	var out []handover.Name
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, ok := strings.CutSuffix(path[len(root)+1:], handover.NameSuffix)
		if !ok {
			return nil
		}
		n, err := handover.ReadName(k.opts.Store.Root(), name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		out = append(out, *n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: names: %w", cache.ErrStore, err)
	}
	slices.SortFunc(out, func(a, b handover.Name) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// SetName keeps what a lock has under a name, from now on; what had it before has it no
// more. Everybody can read it.
func (k *Keeper) SetName(n handover.Name) error {
	if err := handover.CheckName(n.Name); err != nil {
		return err
	}
	n.At = k.opts.Now().UTC().Truncate(time.Second)
	data, err := json.MarshalIndent(&n, "", "  ")
	if err != nil {
		return err
	}
	return k.opts.Store.SaveFile(handover.NamePath(k.opts.Store.Root(), n.Name), 0o644, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// RemoveName takes a name away; the error is of class cache.ErrNotFound if there is none.
func (k *Keeper) RemoveName(name string) error {
	if err := handover.CheckName(name); err != nil {
		return err
	}
	err := os.Remove(handover.NamePath(k.opts.Store.Root(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("name %s: %w", name, cache.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	return nil
}
