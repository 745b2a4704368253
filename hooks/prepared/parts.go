package prepared

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Parts are the parts of the cluster's store that lie with groups of which this
// process is a member, that of its primary group first. What needed a credential is
// there; others see nothing of it. A user's own store has none.
func (s Store) Parts() ([]Store, error) {
	dir := filepath.Join(s.Root, "private")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	more, err := os.Getgroups()
	if err != nil {
		return nil, err
	}
	groups := slices.Compact(append([]int{os.Getegid()}, more...))
	var out []Store
	for i, gid := range groups {
		name := strconv.Itoa(gid)
		there := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
		if there && !slices.Contains(groups[:i], gid) {
			out = append(out, Store{Root: filepath.Join(dir, name), Group: name, Patient: s.Patient, TreesOnly: s.TreesOnly})
		}
	}
	return out, nil
}

// Part is the part that lies with a group; "" = the store itself.
func (s Store) Part(group string) Store {
	if group != "" {
		s.Root, s.Group = filepath.Join(s.Root, "private", group), group
	}
	return s
}
