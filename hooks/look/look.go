// Package look is how a job's user asks root to look at a node: a launch found it
// unhealthy, and a user's word is no reason to do more than to look.
//
// Enters: the run directory. Leaves: a directory in it that users may put one small file
// for each job into (Prepare, as root; Leave, as the user), and whether there was any
// (Take, as root). What the files hold is never read: who takes them asks the node
// himself and goes by his own finding.
//
// Users cannot fill root's run directory with it: it is a file system of its own of a
// few kilobytes and some hundred files.
package look

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// dirName is the directory, below the run directory.
const dirName = "look"

// options of its file system: all that users can ever put there.
const options = "size=64k,nr_inodes=512,mode=1733"

// ErrNone: nothing can be left for root here.
var ErrNone = errors.New("the node takes no requests to look at it")

// Prepare makes the directory, as root. It is called by the prolog and the health check;
// where it is there already nothing is done.
func Prepare(runDir string) error {
	if err := facts.OwnDirectory(runDir); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(runDir, dirName+".lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	// Two at once would mount one over the other.
	if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err == nil {
		err = prepare(filepath.Join(runDir, dirName))
	}
	return errors.Join(err, lock.Close())
}

func prepare(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := open(dir)
	if err == nil {
		return d.Close()
	}
	if !errors.Is(err, ErrNone) {
		return err
	}
	if err := unix.Mount("hpcenv-look", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return fmt.Errorf("%s: a file system for requests cannot be mounted: %w", dir, err)
	}
	return nil
}

// open the directory, if it is what Prepare made.
func open(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	d := os.NewFile(uintptr(fd), dir)
	var st unix.Stat_t
	var sys unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &sys)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if st.Uid != uint32(os.Geteuid()) || st.Mode&0o7777 != 0o1733 || sys.Type != unix.TMPFS_MAGIC {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNone, dir), d.Close())
	}
	return d, nil
}

// Leave asks for a look on behalf of a job, as its user. That it was asked before is no
// error. job is a word without slashes.
func Leave(runDir, job string) error {
	dir := filepath.Join(runDir, dirName)
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if info.Mode()&fs.ModeSticky == 0 || !info.IsDir() {
		return fmt.Errorf("%w: %s", ErrNone, dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, filepath.Base(job)), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return f.Close()
}

// Take tells whether anybody has asked, and takes the requests away, as root. A node on
// which nobody could ask has none.
func Take(runDir string) (bool, error) {
	dir := filepath.Join(runDir, dirName)
	d, err := open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The file system bounds how many there can be.
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil && !errors.Is(err, io.EOF) {
		return len(names) > 0, err
	}
	whole := true
	for _, name := range names {
		// A request is a file. Whatever else users have made of it is not looked into: it may
		// be a file system of theirs (FUSE), which root cannot read, or waits for.
		whole = unix.Unlink(filepath.Join(dir, name)) == nil && whole
	}
	if whole {
		return len(names) > 0, nil
	}
	// The whole file system goes, with all that is mounted in it, and is made anew.
	if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL { // another has
		return true, fmt.Errorf("%s: requests that are no files cannot be taken away: %w", dir, err)
	}
	return true, Prepare(runDir)
}
