package facts

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

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
