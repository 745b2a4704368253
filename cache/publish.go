package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// StoreTempDir is TempDir on the store's own file system, also after UseLocal: what
// is made in it can be published by PublishFile.
func (s *Store) StoreTempDir(kind string) (string, error) { return s.tempDir(s.tmp(), kind) }

// PublishFile makes staged, a finished file in a directory of StoreTempDir, durable,
// gives it its mode and owner, and renames it to final. If final is there already,
// it stays and staged is removed: equal names have equal content in this store.
// Missing parents are made.
func (s *Store) PublishFile(staged, final string, mode os.FileMode) error {
	if !strings.HasPrefix(final, s.root+"/") {
		return fmt.Errorf("%w: %s lies outside of the store %s", ErrStore, final, s.root)
	}
	if err := s.own(staged); err != nil {
		return err
	}
	f, err := os.OpenFile(staged, os.O_RDWR, 0)
	if err != nil {
		return storeError("open", staged, err)
	}
	if err := seal(f, mode); err != nil {
		return errors.Join(storeError("write", staged, err), ignore(f.Close(), os.ErrClosed))
	}
	if err := s.MkdirAll(filepath.Dir(final)); err != nil {
		return err
	}
	if err := s.mayPublish(); err != nil {
		return err
	}
	err = renameNew(staged, final)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// The file system has no such flag. Whoever holds the lock of a name has
		// looked whether it is there.
		err = os.Rename(staged, final)
	}
	if errors.Is(err, unix.EEXIST) {
		return storeError("remove", staged, os.Remove(staged))
	}
	if err != nil {
		return storeError("publish", final, err)
	}
	return syncDir(filepath.Dir(final))
}
