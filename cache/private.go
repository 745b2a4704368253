package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// private is what a store for one group's own packages has beside the rest.
type private struct {
	gid int
	// base is the cluster's store, whose archives everybody may have.
	base *Store
}

// Private returns the part of the store that only the group gid may read: what a
// credential fetched lies there, under private/<gid>/ with the store's own layout,
// nothing shared with another group's. It is made if it is not there. In a user's
// own store, which nobody else reads, that is the store itself.
//
// The store's owner must be able to give files to the group: as a member of it, or
// with CAP_CHOWN. The error (ErrStore) says so if it is not.
func (s *Store) Private(gid int) (*Store, error) {
	if s.format.PrefixRoot == "" {
		return s, nil
	}
	if s.private != nil || gid < 0 {
		return nil, fmt.Errorf("%w: %s can have no part for group %d", ErrStore, s.root, gid)
	}
	p := &Store{
		root: filepath.Join(s.root, "private", strconv.Itoa(gid)), format: s.format, bzip2: s.bzip2,
		private: &private{gid: gid, base: s}, absent: s.absent,
	}
	there, err := readFormat(p.root)
	switch {
	case err == nil && there.equal(p.format):
		return p, nil
	case err == nil:
		return nil, fmt.Errorf("%w: %s has another format than the store; next: remove it, or make the store anew", ErrStore, p.root)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if s.absent {
		return p, nil
	}
	if err := p.makeLayout(); err != nil {
		return nil, err
	}
	return p, p.saveFormat()
}

// HasPrivate reports whether the group has a part of its own already.
func (s *Store) HasPrivate(gid int) bool {
	if s.format.PrefixRoot == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(s.root, "private", strconv.Itoa(gid), formatFile))
	return err == nil
}

// Group is the only group that may read the store; ok is false for a store that
// everybody may read.
func (s *Store) Group() (gid int, ok bool) {
	if s.private == nil {
		return 0, false
	}
	return s.private.gid, true
}

// dirMode is the mode that a directory of the store gets where everybody would
// get mode.
func (s *Store) dirMode(mode os.FileMode) os.FileMode {
	if s.private == nil {
		return mode
	}
	return mode.Perm() &^ 0o027
}

// giveToGroup makes path the group's.
func (s *Store) giveToGroup(path string) error {
	err := os.Lchown(path, -1, s.private.gid)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: the account of the store (uid %d) cannot give %s to group %d; make it a member of the group, or give hpcenvd CAP_CHOWN (AmbientCapabilities and CapabilityBoundingSet in its unit)",
			ErrStore, s.format.OwnerUID, path, s.private.gid)
	}
	return storeError("change the group of", path, err)
}

// HasArchive reports whether src's archive can be had without fetching it.
func (s *Store) HasArchive(src Source) (bool, error) {
	ok, err := s.hasArchive(src)
	if ok || err != nil || s.private == nil {
		return ok, err
	}
	return s.private.base.hasArchive(src)
}

// fromBase takes src's archive from the cluster's store, if that has it: what
// everybody may have is not fetched again.
func (s *Store) fromBase(ctx context.Context, src Source) (bool, error) {
	if s.private == nil {
		return false, nil
	}
	if ok, err := s.private.base.hasArchive(src); !ok || err != nil {
		return false, err
	}
	f, err := os.Open(s.private.base.ArchivePath(src))
	if err != nil {
		return false, storeError("open", s.private.base.ArchivePath(src), err)
	}
	defer f.Close() // only read
	err = s.ImportArchive(ctx, f, src)
	if errors.Is(err, ErrIntegrity) {
		return false, nil // it is not what it was: fetch it
	}
	return err == nil, err
}

// privates opens the parts of the store that are groups' own.
func (s *Store) privates() ([]*Store, error) {
	dir := filepath.Join(s.root, "private")
	entries, err := os.ReadDir(dir)
	if s.private != nil || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("list", dir, err)
	}
	var out []*Store
	for _, e := range entries {
		gid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		root := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(root, formatFile)); err != nil {
			continue // not complete yet
		}
		out = append(out, &Store{root: root, format: s.format, bzip2: s.bzip2, private: &private{gid: gid, base: s}})
	}
	return out, nil
}

// saveFormat writes FORMAT, which makes a directory a store: it comes last.
func (s *Store) saveFormat() error {
	return s.SaveFile(filepath.Join(s.root, formatFile), 0o444, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, s.format.text())
		return err
	})
}
