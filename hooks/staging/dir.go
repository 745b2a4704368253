package staging

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Names of a copy's files, after its digest.
const (
	imageSuffix, recordSuffix, partSuffix, lockSuffix = ".sqfs", ".json", ".part", ".lock"
	roomLock                                          = "room.lock"
)

// dir is the open directory of the copies; all is looked up from its descriptor.
type dir struct{ *os.File }

// openDir opens, or makes, the directory. ErrForeign: it is a link, or others could look
// or write into it.
func openDir(path string) (*dir, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open(path, how, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		fd, err = unix.Open(path, how, 0)
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%w: %s is no directory (symbolic links are not followed)", ErrForeign, path)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := &dir{os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0) {
		err = fmt.Errorf("%w: %s belongs to uid %d with mode %04o; it must be root's with mode 0700", ErrForeign, path, st.Uid, st.Mode&0o7777)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// open opens a file of the directory's own.
func (d *dir) open(name string, flags int, mode uint32) (*os.File, error) {
	path := filepath.Join(d.Name(), name)
	fd, err := unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symbolic link", ErrForeign, path)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o022 != 0 || st.Nlink > 1) {
		err = fmt.Errorf("%w: %s (uid %d, mode %06o, %d links)", ErrForeign, path, st.Uid, st.Mode, st.Nlink)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// remove removes a file; that it is not there is well.
func (d *dir) remove(name string) error {
	if err := unix.Unlinkat(int(d.Fd()), name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "remove", Path: filepath.Join(d.Name(), name), Err: err}
	}
	return nil
}

// record is what the file of a copy was when it was finished.
type record struct {
	Inode      uint64 `json:"inode"`
	Size       int64  `json:"size"`
	ChangedSec int64  `json:"changed_s"`
	ChangedNs  int64  `json:"changed_ns"`
}

func recordOf(f *os.File) (record, uint32, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return record{st.Ino, st.Size, int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}, st.Mode, err
}

// find opens the finished copy; nil = there is none that may be used.
func (d *dir) find(sha string, size int64) (*os.File, error) {
	noted, err := d.noted(sha)
	if err != nil || noted == nil {
		return nil, err
	}
	f, err := d.open(sha+imageSuffix, unix.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		return nil, nil // made again, in its place
	}
	if err != nil {
		return nil, err
	}
	// Held by whoever has this file open, a loop device included: it is in use.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(err, f.Close())
	}
	is, mode, err := recordOf(f)
	if err == nil && is == *noted && is.Size == size && mode&0o777 == 0o444 {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// noted is what was noted of a copy; nil = nothing that may be believed.
func (d *dir) noted(sha string) (*record, error) {
	f, err := d.open(sha+recordSuffix, unix.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	r := new(record)
	if json.Unmarshal(b, r) != nil {
		return nil, nil // cut short by a power cut: as if it were not there
	}
	return r, nil
}

// note writes the record of a finished copy: from now on it may be used.
func (d *dir) note(sha string, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.replace(sha+recordSuffix, b)
}

// used notes that a copy is used now: the record's own time.
func (d *dir) used(sha string) error {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if err := unix.UtimesNanoAt(int(d.Fd()), sha+recordSuffix, now, unix.AT_SYMLINK_NOFOLLOW); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "touch", Path: filepath.Join(d.Name(), sha+recordSuffix), Err: err}
	}
	return nil
}

// tryLock takes a lock file's lock; nil = another has it.
func (d *dir) tryLock(name string) (*os.File, error) {
	f, err := d.open(name, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}
