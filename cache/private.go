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
		return p, p.useLocalOf(s, gid)
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
	return p, errors.Join(p.useLocalOf(s, gid), p.saveFormat())
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

// Parts opens the parts of the store that are groups' own and that this process may
// read: for a user those of the user's groups, for the owner all.
func (s *Store) Parts() ([]*Store, error) {
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
			continue // not for this process, or not complete yet
		}
		part := &Store{root: root, format: s.format, bzip2: s.bzip2, private: &private{gid: gid, base: s}}
		if err := part.useLocalOf(s, gid); err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

// keepsPrivate returns an error of class ErrStore if what a credential fetches could
// be read in this store by others than its group: in a user's own, by everybody. In
// the cluster's only the daemon fetches, with the site's own credentials.
func (s *Store) keepsPrivate() error {
	if s.format.PrefixRoot != "" {
		return nil
	}
	st, err := os.Stat(s.root)
	if err != nil {
		return storeError("look at", s.root, err)
	}
	if st.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%w: everybody may look into %s (mode %04o), and this package is fetched with your credential\nnext: chmod o-rwx %s, or name another store (HPCENV_STORE)", ErrStore, s.root, st.Mode().Perm(), s.root)
	}
	return nil
}

// closedSuffix is that of the mark of a package that a credential fetched.
const closedSuffix = ".closed"

// MarkClosed notes that src needed a credential. In a store that everybody reads
// nothing does.
func (s *Store) MarkClosed(src Source) error {
	if s.private == nil {
		return nil
	}
	return s.SaveFile(s.closedPath(src), 0o444, func(io.Writer) error { return nil })
}

// Closed reports whether src is a package that was marked so and that is there, as
// an archive or taken in.
func (s *Store) Closed(src Source) (bool, error) {
	if s.private == nil {
		return false, nil
	}
	if _, err := os.Stat(s.closedPath(src)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, storeError("look at", s.closedPath(src), err)
	}
	return s.Holds(src)
}

func (s *Store) closedPath(src Source) string {
	return filepath.Join(s.root, "archives", src.SHA256+closedSuffix)
}

// Holds reports whether src is there, as an archive or taken in.
func (s *Store) Holds(src Source) (bool, error) {
	if ok, err := s.hasArchive(src); ok || err != nil {
		return ok, err
	}
	_, err := s.Manifest(src.SHA256)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// saveFormat writes FORMAT, which makes a directory a store: it comes last.
func (s *Store) saveFormat() error {
	return s.SaveFile(filepath.Join(s.root, formatFile), 0o444, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, s.format.text())
		return err
	})
}
