package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SaveFile publishes a file of the store: what write writes appears at path,
// which must be absolute and below the store's root, at once, whole and
// durable, or not at all. A file that is there is replaced. Missing parents are
// made. write's own error comes back as it is; others are of class ErrStore.
func (s *Store) SaveFile(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	tmp, err := s.tempOf(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(tmp, "save-*")
	if err != nil {
		return storeError("create a file in", tmp, err)
	}
	// One clean-up for every way out; both are harmless after success.
	defer func() {
		if err != nil {
			err = errors.Join(err, ignore(f.Close(), os.ErrClosed), ignore(os.Remove(f.Name()), os.ErrNotExist))
		}
	}()
	w := &storeWriter{f: f, path: path}
	if err := write(w); err != nil {
		return err
	}
	if err := seal(f, mode); err != nil {
		return storeError("write", path, err)
	}
	if err := s.own(f.Name()); err != nil {
		return err
	}
	if err := s.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if err := s.mayPublish(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return storeError("publish", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// KeepFile is SaveFile for what can be made again and shows if it is not whole: it is
// not made durable, so that it costs no sync. A power cut may leave a part of it.
func (s *Store) KeepFile(path string, mode os.FileMode, data []byte) (err error) {
	tmp, err := s.tempOf(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(tmp, "keep-*")
	if err != nil {
		return storeError("create a file in", tmp, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignore(os.Remove(f.Name()), os.ErrNotExist))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return storeError("write", f.Name(), err)
	}
	if err := s.own(f.Name()); err != nil {
		return err
	}
	if err := s.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if err := s.mayPublish(); err != nil {
		return err
	}
	return storeError("publish", path, os.Rename(f.Name(), path))
}

// seal sets a finished file's mode, makes it durable and closes it.
func seal(f *os.File, mode os.FileMode) error {
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return f.Close()
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// storeWriter makes errors of writing to the store ErrStore errors, so that
// they stay apart from those of what is read.
type storeWriter struct {
	f    *os.File
	path string
}

func (w *storeWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	return n, storeError("write", w.path, err)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return storeError("open", path, err)
	}
	err = d.Sync()
	// Some network file systems cannot sync a directory: rename is durable there.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return storeError("make durable", path, errors.Join(err, d.Close()))
}

// Sync makes everything written to the store's file system durable, and to that
// of the pool: one syncfs instead of an fsync per file.
func (s *Store) Sync() error {
	err := syncAt(s.root)
	if err == nil && s.local != "" {
		err = syncAt(s.local)
	}
	return err
}

func syncAt(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return storeError("open", path, err)
	}
	err = syncFileSystem(int(d.Fd()))
	return storeError("make durable", path, errors.Join(err, d.Close()))
}

// MkdirAll makes path, a directory of the store, and its missing parents: 0755
// whatever the umask, the owner's.
func (s *Store) MkdirAll(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	if _, err := s.tempOf(path); err != nil {
		return fmt.Errorf("%w: %s is not a directory below the store %s", ErrStore, path, s.root)
	}
	if parent := filepath.Dir(path); parent != s.root && parent != s.local {
		if err := s.MkdirAll(parent); err != nil {
			return err
		}
	}
	return s.ensureDir(path, 0o755)
}

// TempDir makes a fresh directory (0755) below tmp/ whose name begins with
// kind, on the file system of the pool. Unless that is not the store's (UseLocal),
// what is made in it can be published by rename.
func (s *Store) TempDir(kind string) (string, error) {
	return s.tempDir(s.localTmp(), kind)
}

// tempDir is TempDir below tmp, one of the two.
func (s *Store) tempDir(tmp, kind string) (string, error) {
	dir, err := os.MkdirTemp(tmp, kind+"-*")
	if err != nil {
		return "", storeError("create a directory in", tmp, err)
	}
	if err := s.own(dir); err != nil {
		return "", err
	}
	return dir, storeError("set the mode of", dir, os.Chmod(dir, s.dirMode(0o755)))
}

// PublishDir makes everything in staged (a directory made by TempDir, or one
// below it) durable and renames it to final. If final is there already, it
// stays, staged is removed, and the error is nil: equal names have equal
// content in this store.
func (s *Store) PublishDir(ctx context.Context, staged, final string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.MkdirAll(filepath.Dir(final)); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if err := s.mayPublish(); err != nil {
		return err
	}
	err := renameNew(staged, final)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// The file system has no such flag. A plain rename replaces an empty
		// directory only, and a published one never is empty.
		err = os.Rename(staged, final)
	}
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		return storeError("remove", staged, os.RemoveAll(staged))
	}
	if err != nil {
		return storeError("publish", final, err)
	}
	return syncDir(filepath.Dir(final))
}

// CleanTemp removes what unfinished runs left: what lies in tmp/ and what was
// partly downloaded (and a Linker's probes), if it has not been touched for
// olderThan. It returns how many entries it removed. Locks stay.
func (s *Store) CleanTemp(olderThan time.Duration) (int, error) {
	limit := time.Now().Add(-olderThan)
	n, err := removeOld(s.tmp(), limit, func(name string) bool { return name != "locks" })
	if s.local != "" {
		k, lerr := removeOld(s.localTmp(), limit, func(string) bool { return true })
		n, err = n+k, errors.Join(err, lerr)
	}
	m, err2 := removeOld(filepath.Join(s.root, "archives"), limit, func(name string) bool {
		return strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".part.json")
	})
	k, err3 := removeOld(s.PoolDir("files"), limit, func(name string) bool { return strings.HasPrefix(name, probeName) })
	removed, errs := n+m+k, []error{err, err2, err3}
	parts, err := s.Parts()
	errs = append(errs, err)
	for _, p := range parts {
		n, err := p.CleanTemp(olderThan)
		removed, errs = removed+n, append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// removeOld removes the entries of dir that match and were last changed before
// limit.
func removeOld(dir string, limit time.Time, match func(name string) bool) (removed int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, storeError("list", dir, err)
	}
	var errs []error
	for _, e := range entries {
		if !match(e.Name()) {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, os.ErrNotExist) || (err == nil && st.ModTime().After(limit)) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err != nil {
			errs = append(errs, storeError("remove", path, err))
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}
