package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/loopdev"
)

// chunk is what one read asks of the storage.
const chunk = 1 << 20

// roomWait bounds how long a copier waits for another that decides what leaves.
const roomWait = 30 * time.Second

// job is one copy to be made. Its maker holds the lock of the digest.
type job struct {
	d      *dir
	source io.ReaderAt
	sha    string
	size   int64
	budget int64
}

// make makes the copy. What it leaves behind when it fails is nothing; when it is killed,
// a part, which the next one removes.
func (j *job) make() (err error) {
	// Whatever lies there is no finished copy, or the caller would use it.
	for _, suffix := range []string{recordSuffix, imageSuffix, partSuffix} {
		if err := j.d.remove(j.sha + suffix); err != nil {
			return err
		}
	}
	part, err := j.reserve()
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, part.Close()); err != nil {
			err = errors.Join(err, j.d.remove(j.sha+partSuffix))
		}
	}()
	if err := j.fill(part); err != nil {
		return err
	}
	if err := j.readBack(part); err != nil {
		return err
	}
	if err := errors.Join(part.Chmod(0o444), part.Sync()); err != nil {
		return full(err)
	}
	if err := unix.Renameat(int(j.d.Fd()), j.sha+partSuffix, int(j.d.Fd()), j.sha+imageSuffix); err != nil {
		return fmt.Errorf("rename %s: %w", part.Name(), err)
	}
	r, _, err := recordOf(part)
	if err == nil {
		err = errors.Join(j.d.note(j.sha, r), j.d.Sync())
	}
	return full(err)
}

// reserve makes room and takes it, while no other copier decides.
func (j *job) reserve() (part *os.File, err error) {
	var lock *os.File
	for end := time.Now().Add(roomWait); lock == nil; time.Sleep(5 * time.Millisecond) {
		if lock, err = j.d.tryLock(roomLock); err != nil {
			return nil, err
		}
		if lock == nil && time.Now().After(end) {
			return nil, fmt.Errorf("%w: another process decides for more than %s what leaves", ErrRoom, roomWait)
		}
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	have, err := j.d.entries(j.sha)
	if err != nil {
		return nil, err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(j.d.Fd()), &st); err != nil {
		return nil, err
	}
	room := Room{Budget: j.budget, Free: int64(st.Bavail) * int64(st.Bsize), Reserve: int64(st.Blocks) / 20 * int64(st.Bsize)}
	leave, err := Plan(have, j.size, room)
	if err != nil {
		return nil, err
	}
	for _, e := range leave {
		if err := j.d.leave(e.SHA256); err != nil {
			return nil, err
		}
	}
	if err := j.d.tidy(j.sha); err != nil {
		return nil, err
	}
	part, err = j.d.open(j.sha+partSuffix, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return nil, full(err)
	}
	err = unix.Fallocate(int(part.Fd()), 0, 0, j.size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = nil // then writing tells
	}
	if err != nil {
		return nil, errors.Join(full(err), part.Close(), j.d.remove(j.sha+partSuffix))
	}
	return part, nil
}

// full gives what writing met its class.
func full(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: %w", ErrRoom, err)
	case errors.Is(err, unix.EIO), errors.Is(err, unix.EROFS):
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return err
}

// fill copies and hashes what it writes.
func (j *job) fill(part *os.File) error {
	hash, buf := sha256.New(), make([]byte, chunk)
	for at := int64(0); at < j.size; {
		n, err := j.source.ReadAt(buf[:min(chunk, j.size-at)], at)
		if n == 0 && errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends after %d of %d bytes", ErrSource, at, j.size)
		}
		if n == 0 {
			return fmt.Errorf("reading the store's image at byte %d: %w", at, err)
		}
		if _, err := part.WriteAt(buf[:n], at); err != nil {
			return full(err)
		}
		hash.Write(buf[:n])
		at += int64(n)
	}
	if is := hex.EncodeToString(hash.Sum(nil)); is != j.sha {
		return fmt.Errorf("%w: its sha256 is %s, it was published with %s", ErrSource, is, j.sha)
	}
	return full(part.Sync())
}

// readBack hashes what the disk has, not what the page cache keeps of the writing.
func (j *job) readBack(part *os.File) error {
	if err := unix.Fadvise(int(part.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{hash}, io.NewSectionReader(part, 0, j.size+1), make([]byte, chunk)); err != nil {
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	if is := hex.EncodeToString(hash.Sum(nil)); is != j.sha {
		return fmt.Errorf("%w: read back, its sha256 is %s and not %s", ErrDisk, is, j.sha)
	}
	return nil
}

// entries are the copies that are there, but for one digest's. Parts whose makers are gone
// are removed.
func (d *dir) entries(but string) ([]Entry, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, name := range names {
		sha, isPart := strings.CutSuffix(name, partSuffix)
		if !isPart {
			var isImage bool
			if sha, isImage = strings.CutSuffix(name, imageSuffix); !isImage {
				continue
			}
		}
		if sha == but || !isDigest(sha) {
			continue
		}
		e, err := d.entry(sha, name, isPart)
		if err != nil {
			return nil, err
		}
		if e != nil {
			out = append(out, *e)
		}
	}
	return out, nil
}

// entry looks at one file; nil = it is gone (now).
func (d *dir) entry(sha, name string, isPart bool) (*Entry, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := &Entry{SHA256: sha, Size: st.Size}
	// Whoever makes it, or is about to look at it, has its lock.
	lock, err := d.tryLock(sha + lockSuffix)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		e.InUse = true
		return e, nil
	}
	if isPart {
		return nil, errors.Join(d.remove(name), lock.Close())
	}
	e.InUse, err = d.inUse(name)
	if uerr := unix.Fstatat(int(d.Fd()), sha+recordSuffix, &st, unix.AT_SYMLINK_NOFOLLOW); uerr == nil {
		e.Used = time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec))
	} else if !errors.Is(uerr, unix.ENOENT) { // without a record it leaves first
		err = errors.Join(err, uerr)
	}
	return e, errors.Join(err, lock.Close())
}

// inUse tells whether a loop device shows a copy, or a process has it from find, whoever
// that has handed it to.
func (d *dir) inUse(name string) (bool, error) {
	shown, err := loopdev.Using(name)
	for _, f := range shown {
		err = errors.Join(err, f.Close())
	}
	if err != nil || len(shown) > 0 {
		return true, err
	}
	f, err := d.open(name, unix.O_RDONLY, 0)
	if errors.Is(err, ErrForeign) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	used := errors.Is(err, unix.EWOULDBLOCK)
	if used {
		err = nil
	}
	return used, errors.Join(err, f.Close())
}

// leave removes a copy, unless it came into use meanwhile. The record goes first: what is
// left of a kill here is not used.
func (d *dir) leave(sha string) error {
	used, err := d.inUse(sha + imageSuffix)
	if err == nil && used {
		err = fmt.Errorf("%w: a copy that was to leave is used now", ErrRoom)
	}
	if err == nil {
		err = errors.Join(d.remove(sha+recordSuffix), d.remove(sha+imageSuffix))
	}
	return err
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}
