package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// UseLocal puts what only builds need, the pool and what TempDir makes, below dir
// on this host's own disk, so that the store's storage sees archives, descriptions
// and finished files only. It must be called before the store is used. dir is made
// if it is not there and belongs to the store's owner alone; another host, or this
// one after dir was lost, makes what it needs of it again from the archives.
//
// A prefix that was made there cannot be published by PublishDir, which renames.
func (s *Store) UseLocal(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: %q, where environments are to be built, is not an absolute path", ErrStore, dir)
	}
	dir = filepath.Clean(dir)
	within := func(path, of string) bool { return strings.HasPrefix(path+"/", strings.TrimSuffix(of, "/")+"/") }
	if within(dir, s.root) || within(s.root, dir) {
		return fmt.Errorf("%w: environments are to be built in %s, and the store is %s: neither may lie in the other; next: name a directory of the local disk", ErrStore, dir, s.root)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return storeError("create directory", filepath.Dir(dir), err)
	}
	if err := s.ownDir(dir); err != nil {
		return err
	}
	s.local = dir
	for _, d := range localDirs {
		if err := s.ensureDir(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// ownDir makes a directory that the store's owner alone may enter: what needed a
// credential lies there, too. One that is there is never changed: whoever names a
// directory of something else by mistake must not lose it.
func (s *Store) ownDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		if err := errors.Join(os.Chmod(dir, 0o700), s.own(dir)); err != nil {
			return storeError("make", dir, err)
		}
		return nil
	case !errors.Is(err, os.ErrExist):
		return storeError("create directory", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return storeError("look at", dir, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != s.format.OwnerUID || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: %s, where environments are to be built, is there and is not a directory of uid %d that nobody else may enter; next: name one that is not there yet, or, if nothing else lies in it, chown %d and chmod 700 it",
			ErrStore, dir, s.format.OwnerUID, s.format.OwnerUID)
	}
	return nil
}

// localDirs are the directories of UseLocal, parents first.
var localDirs = []string{"pool", "pool/files", "pool/packages", "pool/elf", "pool/pyc", "private", "tmp"}

// useLocalOf gives a part of the store a place of its own in the place of the whole.
func (s *Store) useLocalOf(whole *Store, gid int) error {
	if whole.local == "" || whole.absent {
		return nil
	}
	s.local = filepath.Join(whole.local, "private", strconv.Itoa(gid))
	if err := s.ensureDir(s.local, 0o755); err != nil {
		return err
	}
	for _, d := range localDirs {
		if err := s.ensureDir(filepath.Join(s.local, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Builds is the directory below which the pool and what is being made lie: the
// store's own, or that of UseLocal.
func (s *Store) Builds() string {
	if s.local != "" {
		return s.local
	}
	return s.root
}

// BuildsApart reports whether Builds is not the store itself.
func (s *Store) BuildsApart() bool { return s.local != "" }

// PoolDir is a directory of the pool: files, packages, elf or pyc.
func (s *Store) PoolDir(name string) string { return filepath.Join(s.Builds(), "pool", name) }

// tempOf is the tmp/ from which path can be published by a rename, or an error if
// path lies outside of the store.
func (s *Store) tempOf(path string) (string, error) {
	switch {
	case strings.HasPrefix(path, s.root+"/"):
		return s.tmp(), nil
	case s.local != "" && strings.HasPrefix(path, s.local+"/"):
		return s.localTmp(), nil
	}
	return "", fmt.Errorf("%w: %s lies outside of the store %s", ErrStore, path, s.root)
}

// localTmp is the tmp/ beside the pool.
func (s *Store) localTmp() string { return filepath.Join(s.Builds(), "tmp") }
