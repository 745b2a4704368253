package linkscript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// fixedTime is the time of everything in the copy, as in the environment itself.
var fixedTime = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// usage is what a tree takes.
type usage struct{ bytes, inodes int64 }

// copyTree copies a tree into the directory at, which it makes. Every file is a new
// one, whatever the file system shares below; the owner may write to all.
func copyTree(ctx context.Context, from, at string) (usage, error) {
	var u usage
	var dirs []string
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		to := filepath.Join(at, rel)
		u.inodes++
		switch {
		case d.IsDir():
			dirs = append(dirs, to)
			return os.Mkdir(to, 0o755)
		case d.Type() == fs.ModeSymlink:
			text, err := os.Readlink(p)
			if err != nil {
				return err
			}
			if err := os.Symlink(text, to); err != nil {
				return err
			}
			ts := unix.Timespec{Sec: fixedTime.Unix()}
			return unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
		case d.Type().IsRegular():
			n, err := copyFile(p, to)
			u.bytes += n
			return err
		}
		return fmt.Errorf("%s is neither directory, file nor link", p)
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		err = os.Chtimes(dirs[i], fixedTime, fixedTime)
	}
	if err != nil {
		return u, fmt.Errorf("private copy of %s: %w", from, err)
	}
	return u, nil
}

// copyFile makes a file of its own. io.Copy lets the kernel share blocks where the
// file system can: a write to one does not show in the other.
func copyFile(from, to string) (n int64, err error) {
	src, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer src.Close() // only read
	st, err := src.Stat()
	if err != nil {
		return 0, err
	}
	mode := os.FileMode(0o644)
	if st.Mode()&0o111 != 0 {
		mode = 0o755
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(mode)
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return n, err
	}
	return n, os.Chtimes(to, fixedTime, fixedTime)
}

// RemoveAll removes what a script may have left behind, directories without any
// permission and processes that are just being killed included.
func RemoveAll(root string) error {
	err := os.RemoveAll(root)
	for try := 0; err != nil && try < 20; try++ {
		if try > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		werr := openDirs(root)
		if err = os.RemoveAll(root); err == nil {
			return nil
		}
		err = errors.Join(err, werr)
	}
	return err
}
