package facts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ReadTrusted reads a file of the run directory. It is believed only if it is a
// regular file of root's (or of the caller's own, who could not deceive anyone
// else) that no other may write to, of at most 1 MiB.
func ReadTrusted(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := newTree("/").open(path)
	if err != nil {
		return nil, err
	}
	b, err := readTrusted(f, path)
	return b, errors.Join(err, f.Close())
}

// readTrusted reads an opened file whose owner and mode let it be believed.
func readTrusted(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s is not root's alone to write to", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("%s has more than %d bytes", path, maxRecord)
	}
	return b, err
}

// OwnDirectory refuses a directory in which others could move the caller's files about.
func OwnDirectory(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s must be a directory that only root may write to; next: the administrator names another run_dir, in plugstack.conf and in the prolog", path)
	}
	return nil
}

// WriteTrusted writes a file of the run directory, readable by all. A reader sees
// the old one or the new one. The directory must be there and the caller's alone to
// write to (OwnDirectory).
func WriteTrusted(path string, b []byte) error {
	if err := OwnDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	// What it is trusted for are its owner and its mode. It need not outlive the
	// boot: no sync.
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
