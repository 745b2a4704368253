package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// emptySHA256 is the digest of no bytes. Empty content has no pool file: a
// tenth of a stack's files are empty, and an inode takes only so many links.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// FileTime is the modification time of every file in the pool, and so of every
// file that is linked from it.
var FileTime = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// fileTimes is FileTime as utimensat takes it: access, modification.
var fileTimes = []unix.Timespec{{Sec: FileTime.Unix()}, {Sec: FileTime.Unix()}}

// poolMode is the mode of a pool file: nobody, the owner included, writes
// through a hard link by accident.
func poolMode(exec bool) os.FileMode {
	if exec {
		return 0o555
	}
	return 0o444
}

// poolHas reports whether the pool holds this content for certain: this
// process wrote or hashed it. A file of which that is not known is hashed now;
// a wrong one (a power cut before a sync leaves such) counts as absent, and the
// caller's rename replaces it.
func (s *Store) poolHas(digest string, exec bool) (bool, error) {
	name := poolName(digest, exec)
	if _, ok := s.good.Load(name); ok {
		return true, nil
	}
	path := s.PoolPath(digest, exec)
	fd, err := open(path, unix.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError("open", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, storeError("read", path, err)
	}
	st, err := f.Stat()
	if err != nil {
		return false, storeError("look at", path, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != digest || st.Mode() != poolMode(exec) || !st.ModTime().Equal(FileTime) {
		return false, nil
	}
	s.good.Store(name, struct{}{})
	return true, nil
}

// poolAdd takes a finished, closed file of tmp/ into the pool, or removes it if
// its content is there already. It does not make anything durable: a sync
// before the manifest's publication does that for all files at once.
//
// Two packages with one content come at a time: the second must find the first's
// file, not replace it, since on a network file system a reader may just then
// hold what is replaced.
func (s *Store) poolAdd(temp, digest string, exec bool) error {
	defer s.taker(digest)()
	has, err := s.poolHas(digest, exec)
	if err != nil {
		return err
	}
	if has {
		return storeError("remove", temp, os.Remove(temp))
	}
	return s.poolPublish(temp, digest, exec)
}

// taker waits for its turn to take a content in; what it returns ends the turn.
func (s *Store) taker(digest string) func() {
	one := &s.adding[(int(digest[0])*31+int(digest[1]))%len(s.adding)]
	one.Lock()
	return one.Unlock
}

// poolPublish gives a finished file of tmp/ its name in the pool, where it
// replaces what is not known to be right.
func (s *Store) poolPublish(temp, digest string, exec bool) error {
	path := s.PoolPath(digest, exec)
	err := unix.Rename(temp, path)
	if errors.Is(err, os.ErrNotExist) {
		if err := s.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = unix.Rename(temp, path)
	}
	if err != nil {
		return storeError("publish", path, err)
	}
	s.good.Store(poolName(digest, exec), struct{}{})
	return nil
}

// poolWrite takes content, whose digest the caller has computed, into the pool.
// temp is a name below tmp/ that nobody else uses.
func (s *Store) poolWrite(temp string, content []byte, digest string, exec bool) error {
	return s.poolWriteIn(temp, content, digest, exec, false)
}

// poolWriteIn is poolWrite; exact says that a new file has the mode asked for.
//
// The file is made under its own name: who comes upon it half-written, now or
// after a crash, finds by its bytes that it is not what its name says, and puts a
// whole one in its place. That spares shared storage two operations a file.
func (s *Store) poolWriteIn(temp string, content []byte, digest string, exec, exact bool) error {
	defer s.taker(digest)()
	name := poolName(digest, exec)
	if _, ok := s.good.Load(name); ok {
		return nil
	}
	path := s.PoolPath(digest, exec)
	err := s.writeNew(path, content, exec, exact)
	if errors.Is(err, os.ErrNotExist) {
		if err := s.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = s.writeNew(path, content, exec, exact)
	}
	if errors.Is(err, os.ErrExist) {
		has, err := s.poolHas(digest, exec)
		if has || err != nil {
			return err
		}
		if err := s.writeNew(temp, content, exec, exact); err != nil {
			return storeError("write", temp, err)
		}
		return s.poolPublish(temp, digest, exec)
	}
	if err != nil {
		return storeError("write", path, err)
	}
	s.good.Store(name, struct{}{})
	return nil
}

// writeNew makes a pool file of content at path, where nothing may be yet. After
// an error nothing is there.
func (s *Store) writeNew(path string, content []byte, exec, exact bool) error {
	// The standard library's files ask the kernel what they are, which costs a
	// cold store of small files a fifth of its time.
	fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(poolMode(exec)))
	if err != nil {
		return err
	}
	err = writeAll(fd, content)
	if err == nil && !exact {
		err = unix.Fchmod(fd, uint32(poolMode(exec)))
	}
	if err == nil {
		err = futimens(fd, fileTimes)
	}
	if err = errors.Join(err, unix.Close(fd)); err == nil {
		err = s.own(path)
	}
	if err != nil {
		return errors.Join(err, ignore(os.Remove(path), os.ErrNotExist))
	}
	return nil
}

// open opens a file, closed on exec, again if a signal came between.
func open(path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// writeAll writes all of data to an open file.
func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// poolStream writes content to temp, hashing it on the way, and takes it into
// the pool. It returns the digest.
func (s *Store) poolStream(temp string, content io.Reader, size int64, exec bool) (string, error) {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", storeError("create", temp, err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(&storeWriter{f: f, path: temp}, h), content)
	if err == nil && n != size {
		err = fmt.Errorf("%w: a member has %d bytes, its header says %d", ErrIntegrity, n, size)
	}
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	if err := s.finish(f, exec); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	return digest, s.poolAdd(temp, digest, exec)
}

// finish gives an open file a pool file's mode, time and owner and closes it.
func (s *Store) finish(f *os.File, exec bool) error {
	err := f.Chmod(poolMode(exec))
	if err == nil {
		err = s.own(f.Name())
	}
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, f.Name(), fileTimes, 0)
	}
	return storeError("write", f.Name(), errors.Join(err, f.Close()))
}

// OpenEntry opens the content of a file entry as the archive holds it, for
// reading. ErrNotFound means that the pool lost it.
func (s *Store) OpenEntry(e Entry) (*os.File, error) {
	path := os.DevNull // empty content has no pool file
	if e.Size > 0 {
		path = s.PoolPath(e.SHA256, e.Exec)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, s.lost(e)
	}
	if err != nil {
		return nil, storeError("open", path, err)
	}
	return f, nil
}

func (s *Store) lost(e Entry) error {
	return fmt.Errorf("content of %s (sha256 %s): %w: %s is missing; next: remove the package's manifest in pool/packages and prepare again",
		e.Path, e.SHA256, ErrNotFound, s.PoolPath(e.SHA256, e.Exec))
}
