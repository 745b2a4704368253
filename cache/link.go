package cache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Method is how an entry's content came to its place.
type Method int

const (
	// Hardlink: the place is another name of the pool file.
	Hardlink Method = iota
	// Copy: the place has its own file (where the file systems can, sharing
	// blocks with the pool).
	Copy
	// Created: the content is empty and the file is new.
	Created
)

func (m Method) String() string {
	return [...]string{"hardlink", "copy", "created"}[m]
}

// Linker places pool files below one directory. Whether hard links work there
// is found out once, by making one. It may be used by many goroutines.
type Linker struct {
	s    *Store
	pool *os.File // pool/files
	copy bool
	// exact: what is made below dir has the mode asked for.
	exact bool
}

// NewLinker returns a Linker for places below dir, which must be an existing
// directory that the process may write to. The caller closes it.
func (s *Store) NewLinker(dir string) (*Linker, error) {
	path := filepath.Join(s.root, "pool", "files")
	pool, err := os.Open(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	l := &Linker{s: s, pool: pool}
	if l.copy, err = s.mustCopy(dir); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if l.exact, err = exactModesIn(dir); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return l, nil
}

// Exact reports whether what is made below the Linker's directory has just the
// mode that is asked for, so that nobody needs to set it again.
func (l *Linker) Exact() bool { return l.exact }

// Close releases the Linker.
func (l *Linker) Close() error { return l.pool.Close() }

// Copies reports whether the probe found that hard links do not work here.
func (l *Linker) Copies() bool { return l.copy }

// probeName begins the names of the files that probes make.
const probeName = ".probe-"

// mustCopy tries a hard link from the pool into dir. Device numbers do not tell
// whether one works: bind mounts, sub-volumes and servers refuse as they like.
func (s *Store) mustCopy(dir string) (bool, error) {
	probe, err := os.CreateTemp(filepath.Join(s.root, "pool", "files"), probeName+"*")
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		// A reader of somebody else's store: kernels refuse its links to files
		// that it could not write (fs.protected_hardlinks).
		return true, nil
	}
	if err != nil {
		return false, storeError("probe for hard links in", filepath.Join(s.root, "pool", "files"), err)
	}
	place := filepath.Join(dir, filepath.Base(probe.Name()))
	lerr := os.Link(probe.Name(), place)
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if lerr == nil {
		err = errors.Join(err, os.Remove(place))
	} else if !linkRefused(lerr) {
		return false, errors.Join(storeError("probe for hard links in", dir, lerr), err)
	}
	return lerr != nil, storeError("probe for hard links in", dir, err)
}

// linkRefused reports whether a link failed for a reason that a copy has not.
func linkRefused(err error) bool {
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.ENOTSUP, unix.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Link places the content of the file entry e at dst. See LinkAt.
func (l *Linker) Link(e Entry, dst string) (Method, error) {
	return l.LinkAt(unix.AT_FDCWD, dst, e)
}

// LinkAt places the content of the file entry e at name, relative to the open
// directory dirfd. There must be nothing yet (else the error wraps
// os.ErrExist). An entry with a placeholder is refused, since its content must
// be patched; NoLink is always copied. ErrNotFound: the pool lost the content.
func (l *Linker) LinkAt(dirfd int, name string, e Entry) (Method, error) {
	switch {
	case e.Type != EntryFile:
		return 0, fmt.Errorf("place %s: entry %q is a %s, not a file", name, e.Path, e.Type)
	case e.Placeholder != "":
		return 0, fmt.Errorf("place %s: entry %q has a placeholder and must be patched, not linked", name, e.Path)
	case e.Size == 0:
		return Created, l.create(dirfd, name, e.Exec, nil)
	case l.copy || e.NoLink:
		return Copy, l.copyAt(dirfd, name, e)
	}
	pool := poolName(e.SHA256, e.Exec)
	err := l.s.linkPool(int(l.pool.Fd()), pool, dirfd, name)
	switch {
	case err == nil:
		return Hardlink, nil
	case errors.Is(err, unix.ENOENT):
		// Either the pool file is missing or the place's directory is.
		if serr := unix.Faccessat(int(l.pool.Fd()), pool, unix.F_OK, 0); errors.Is(serr, unix.ENOENT) {
			return 0, l.s.lost(e)
		}
	case linkRefused(err):
		return Copy, l.copyAt(dirfd, name, e)
	}
	return 0, placeError(name, err)
}

func placeError(name string, err error) error {
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("place %s: %w", name, err)
	}
	return storeError("place", name, err)
}

// create makes a new file with a pool file's mode and time and, if fill is not
// nil, what fill writes.
func (l *Linker) create(dirfd int, name string, exec bool, fill func(*os.File) error) error {
	if fill == nil && l.exact {
		err := unix.Mknodat(dirfd, name, unix.S_IFREG|uint32(poolMode(exec)), 0)
		if err == nil {
			return l.finishEmpty(dirfd, name)
		}
		if !notMade(err) {
			return placeError(name, err)
		}
	}
	fd, err := unix.Openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return placeError(name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if fill != nil {
		err = fill(f)
	}
	if err == nil {
		err = unix.Fchmod(fd, uint32(poolMode(exec)))
	}
	if err == nil && os.Geteuid() == 0 && l.s.format.OwnerUID != 0 {
		err = unix.Fchown(fd, l.s.format.OwnerUID, -1)
	}
	if err == nil {
		err = unix.UtimesNanoAt(dirfd, name, fileTimes, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return storeError("write", name, err)
	}
	return nil
}

// finishEmpty gives an empty file, which was made with its mode, owner and time.
func (l *Linker) finishEmpty(dirfd int, name string) error {
	if os.Geteuid() == 0 && l.s.format.OwnerUID != 0 {
		if err := unix.Fchownat(dirfd, name, l.s.format.OwnerUID, -1, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return storeError("write", name, err)
		}
	}
	return storeError("write", name, unix.UtimesNanoAt(dirfd, name, fileTimes, unix.AT_SYMLINK_NOFOLLOW))
}

func (l *Linker) copyAt(dirfd int, name string, e Entry) error {
	in, err := l.s.OpenEntry(e)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	return l.create(dirfd, name, e.Exec, func(out *os.File) error {
		// The kernel copies, or shares blocks where the file system can.
		n, err := io.Copy(out, in)
		if err == nil && n != e.Size {
			err = fmt.Errorf("%w: pool file of %s has %d bytes, its manifest says %d", ErrIntegrity, e.SHA256, n, e.Size)
		}
		return err
	})
}

// linkPool links a pool file, or that of its siblings which takes links now, to
// name. An inode takes a limited number of links (65,000 on ext4): when one is
// full, a copy of it beside it, <name>.1 and so on, takes over.
func (s *Store) linkPool(poolfd int, pool string, dirfd int, name string) error {
	for {
		number := 0
		if n, ok := s.siblings.Load(pool); ok {
			number = n.(int)
		}
		err := unix.Linkat(poolfd, siblingName(pool, number), dirfd, name, 0)
		if errors.Is(err, unix.ENOENT) && number > 0 {
			// Known by number but not there: it was collected.
			if unix.Faccessat(poolfd, siblingName(pool, number), unix.F_OK, 0) != nil {
				s.siblings.CompareAndDelete(pool, number)
				continue
			}
		}
		if !errors.Is(err, unix.EMLINK) {
			return err
		}
		if err := s.nextSibling(pool, number); err != nil {
			return err
		}
	}
}

func siblingName(pool string, number int) string {
	if number == 0 {
		return pool
	}
	return pool + "." + strconv.Itoa(number)
}

// nextSibling makes the sibling after full the one that takes links, copying
// the pool file if there is none yet.
func (s *Store) nextSibling(pool string, full int) error {
	s.sibling.Lock()
	defer s.sibling.Unlock()
	if n, ok := s.siblings.Load(pool); ok && n.(int) > full {
		return nil // somebody else was faster
	}
	path := filepath.Join(s.root, "pool", "files", siblingName(pool, full+1))
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if err := s.makeSibling(pool, path); err != nil {
			return err
		}
	} else if err != nil {
		return storeError("look at", path, err)
	}
	s.siblings.Store(pool, full+1)
	return nil
}

func (s *Store) makeSibling(pool, path string) (err error) {
	in, err := os.Open(filepath.Join(s.root, "pool", "files", pool))
	if err != nil {
		return storeError("open", filepath.Join(s.root, "pool", "files", pool), err)
	}
	defer in.Close() // only read
	dir, err := s.TempDir("sibling")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = storeError("remove", dir, rerr)
		}
	}()
	st, err := in.Stat()
	if err != nil {
		return storeError("look at", in.Name(), err)
	}
	exec := st.Mode()&0o111 != 0
	temp, err := os.OpenFile(filepath.Join(dir, "file"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storeError("create", filepath.Join(dir, "file"), err)
	}
	d := newDigester(Source{})
	if _, err := io.Copy(io.MultiWriter(temp, d), in); err != nil {
		return errors.Join(storeError("copy", in.Name(), err), temp.Close())
	}
	if want := filepath.Base(pool)[:64]; d.sum() != want {
		return errors.Join(fmt.Errorf("%w: pool file %s has sha256 %s", ErrIntegrity, in.Name(), d.sum()), temp.Close())
	}
	if err := temp.Sync(); err != nil {
		return errors.Join(storeError("write", temp.Name(), err), temp.Close())
	}
	if err := s.finish(temp, exec); err != nil {
		return err
	}
	return storeError("publish", path, os.Rename(temp.Name(), path))
}
