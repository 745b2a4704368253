// Package remember keeps what a user's own commands found out, in a directory below the
// user's cache directory, so that they need not find it out again.
//
// Enters: bytes with a name. Leaves: the same bytes, later. Nothing that was kept is
// needed: what cannot be kept, or cannot be believed, is found out anew. It is believed
// only if nobody else could have written it: a cache directory may be shared
// (XDG_CACHE_HOME on a project's storage), and what is kept decides what a job gets.
package remember

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// forgetAfter is the age at which something is forgotten.
const forgetAfter = 90 * 24 * time.Hour

// Dir is where a user's commands keep things of one sort; "" = they have no cache
// directory, and nothing is kept.
func Dir(sort string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "hpcenv", sort)
}

// Recall returns what was kept under a path. Errors say why it is not used: it is not
// there, not the caller's alone to write, no regular file, or longer than max bytes.
func Recall(path string, max int64) ([]byte, error) {
	// A pipe without a writer must not hold a submission up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s is not a file that only its user writes", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("%s has more than %d bytes", path, max)
	}
	return data, err
}

// Keep keeps data under a path, wholly or not at all, and forgets what is old beside it.
func Keep(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := forget(dir); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

func forget(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) <= forgetAfter {
			continue // another process has removed it, or it is none of ours
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
