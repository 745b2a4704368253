package cache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Linker places pool files below one directory. Whether hard links work there
// is found out once, by making one. It may be used by many goroutines.
type Linker struct {
	s    *Store
	pool *os.File // pool/files
	ways ways
	made atomic.Int64 // siblings
	size atomic.Int64 // their bytes
	// exact: what is made below dir has the mode asked for.
	exact bool
}

// NewLinker returns a Linker for places below dir, which must be an existing
// directory that the process may write to. The caller closes it.
func (s *Store) NewLinker(dir string) (*Linker, error) {
	path := s.PoolDir("files")
	pool, err := os.Open(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	l := &Linker{s: s, pool: pool}
	if err := s.probe(dir, &l.ways); err != nil {
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
func (l *Linker) Close() error { return storeError("close", l.pool.Name(), l.pool.Close()) }

// Method is how this Linker places what nothing forbids to share: what the
// probe found to work.
func (l *Linker) Method() Method { return l.ways.method() }

// Siblings is how many copies of pool files this Linker added to the pool since
// an inode had all the links that it takes, and their bytes.
func (l *Linker) Siblings() (files int, bytes int64) {
	return int(l.made.Load()), l.size.Load()
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
	case !l.ways.link || e.NoLink:
		return l.copyAt(dirfd, name, e)
	}
	pool := poolName(e.SHA256, e.Exec)
	err := l.linkPool(pool, dirfd, name)
	switch {
	case err == nil:
		return Hardlink, nil
	case errors.Is(err, unix.ENOENT):
		// Either the pool file is missing or the place's directory is.
		if serr := unix.Faccessat(int(l.pool.Fd()), pool, unix.F_OK, 0); errors.Is(serr, unix.ENOENT) {
			return 0, l.s.lost(e)
		}
	case linkRefused(err):
		return l.copyAt(dirfd, name, e)
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
		err := makeEmpty(dirfd, name, uint32(poolMode(exec)))
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

// copyAt makes a file of its own, which shares blocks with the pool's if that
// works here.
func (l *Linker) copyAt(dirfd int, name string, e Entry) (how Method, err error) {
	in, err := l.s.OpenEntry(e)
	if err != nil {
		return 0, err
	}
	defer in.Close() // only read
	how = Copy
	err = l.create(dirfd, name, e.Exec, func(out *os.File) error {
		if l.ways.clone.Load() {
			if err := cloneFile(int(out.Fd()), int(in.Fd())); err == nil {
				how = Reflink
				return checkSize(out, e)
			}
			// Whatever is against it, a copy tells better what is wrong.
			l.ways.clone.Store(false)
		}
		n, err := io.Copy(out, in)
		if err == nil && n != e.Size {
			err = wrongSize(e, n)
		}
		return err
	})
	return how, err
}

func checkSize(f *os.File, e Entry) error {
	st, err := f.Stat()
	if err == nil && st.Size() != e.Size {
		err = wrongSize(e, st.Size())
	}
	return err
}

func wrongSize(e Entry, n int64) error {
	return fmt.Errorf("%w: pool file of %s has %d bytes, its manifest says %d", ErrIntegrity, e.SHA256, n, e.Size)
}

// linkPool links a pool file, or that of its siblings which takes links now, to
// name. An inode takes a limited number of links (65,000 on ext4): when one is
// full, a copy of it beside it, <name>.1 and so on, takes over.
func (l *Linker) linkPool(pool string, dirfd int, name string) error {
	s, poolfd := l.s, int(l.pool.Fd())
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
		var st unix.Stat_t
		if serr := unix.Fstatat(poolfd, siblingName(pool, number), &st, 0); serr == nil && st.Nlink == 1 {
			return err // it takes none at all: a copy must do
		}
		if err := l.nextSibling(pool, number); err != nil {
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

// nextSibling finds a sibling after full to take links, copying the pool file if
// there is none yet. Those that are there may be many and full: only the last
// of them is tried.
func (l *Linker) nextSibling(pool string, full int) error {
	s := l.s
	s.sibling.Lock()
	defer s.sibling.Unlock()
	if n, ok := s.siblings.Load(pool); ok && n.(int) > full {
		return nil // somebody else was faster
	}
	last, err := lastSibling(int(l.pool.Fd()), pool, full)
	if err != nil {
		return storeError("look at", s.poolFile(siblingName(pool, full+1)), err)
	}
	if last == full {
		last++
		n, err := s.makeSibling(pool, s.poolFile(siblingName(pool, last)))
		if err != nil {
			return err
		}
		l.made.Add(1)
		l.size.Add(n)
	}
	s.siblings.Store(pool, last)
	return nil
}

// lastSibling is the number of the last sibling of an unbroken row that begins
// at from, which is there. It doubles its steps, so that a server that allows
// few links costs few questions.
func lastSibling(poolfd int, pool string, from int) (int, error) {
	var err error
	there := func(n int) bool {
		e := unix.Faccessat(poolfd, siblingName(pool, n), unix.F_OK, 0)
		if e != nil && !errors.Is(e, unix.ENOENT) {
			err = e
		}
		return e == nil
	}
	step := 1
	for err == nil && there(from+step) {
		step *= 2
	}
	missing := sort.Search(step, func(i int) bool { return i > 0 && err == nil && !there(from+i) })
	return from + missing - 1, err
}

func (s *Store) poolFile(name string) string { return filepath.Join(s.PoolDir("files"), name) }

func (s *Store) makeSibling(pool, path string) (size int64, err error) {
	in, err := os.Open(s.poolFile(pool))
	if err != nil {
		return 0, storeError("open", s.poolFile(pool), err)
	}
	defer in.Close() // only read
	dir, err := s.TempDir("sibling")
	if err != nil {
		return 0, err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = storeError("remove", dir, rerr)
		}
	}()
	st, err := in.Stat()
	if err != nil {
		return 0, storeError("look at", in.Name(), err)
	}
	exec := st.Mode()&0o111 != 0
	temp, err := os.OpenFile(filepath.Join(dir, "file"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, storeError("create", filepath.Join(dir, "file"), err)
	}
	d := newDigester(Source{})
	if _, err := io.Copy(io.MultiWriter(temp, d), in); err != nil {
		return 0, errors.Join(storeError("copy", in.Name(), err), temp.Close())
	}
	if want := filepath.Base(pool)[:64]; d.sum() != want {
		return 0, errors.Join(fmt.Errorf("%w: pool file %s has sha256 %s", ErrIntegrity, in.Name(), d.sum()), temp.Close())
	}
	if err := temp.Sync(); err != nil {
		return 0, errors.Join(storeError("write", temp.Name(), err), temp.Close())
	}
	if err := s.finish(temp, exec); err != nil {
		return 0, err
	}
	return st.Size(), storeError("publish", path, os.Rename(temp.Name(), path))
}
