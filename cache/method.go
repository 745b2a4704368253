package cache

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Method is how an entry's content came to its place.
type Method int

const (
	// Hardlink: the place is another name of the pool file.
	Hardlink Method = iota
	// Copy: the place has its own file with its own blocks.
	Copy
	// Created: the content is empty and the file is new.
	Created
	// Reflink: the place has its own file, which shares blocks with the pool.
	Reflink
)

func (m Method) String() string {
	return [...]string{"hardlink", "copy", "created", "reflink"}[m]
}

// ways are what a probe found to work between the pool and a directory.
type ways struct {
	link  bool // hard links
	clone atomic.Bool
}

// method is how content is placed where nothing forbids to share.
func (w *ways) method() Method {
	switch {
	case w.link:
		return Hardlink
	case w.clone.Load():
		return Reflink
	}
	return Copy
}

// probeName begins the names of the files that probes make.
const probeName = ".probe-"

// probe tries a hard link and a reflink from the pool into dir. Device numbers
// do not tell whether they work: bind mounts, sub-volumes and servers refuse as
// they like. Hard links are preferred: they cost no inode. A reflink serves
// where they do not work, and for what must not share an inode.
func (s *Store) probe(dir string, w *ways) (err error) {
	pool := s.PoolDir("files")
	probe, err := os.CreateTemp(pool, probeName+"*")
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		// A reader of somebody else's store: kernels refuse its links to files
		// that it could not write (fs.protected_hardlinks). A reflink only reads;
		// the first file will tell.
		w.clone.Store(true)
		return nil
	}
	if err != nil {
		return storeError("probe for hard links in", pool, err)
	}
	defer func() { err = errors.Join(err, probe.Close(), os.Remove(probe.Name())) }()
	place := filepath.Join(dir, filepath.Base(probe.Name()))
	lerr := os.Link(probe.Name(), place)
	if lerr == nil {
		w.link = true
		if err := os.Remove(place); err != nil {
			return storeError("probe for hard links in", dir, err)
		}
	} else if !linkRefused(lerr) {
		return storeError("probe for hard links in", dir, lerr)
	}
	// Sharing no blocks would prove nothing.
	if _, err := probe.Write(make([]byte, 4096)); err != nil {
		return storeError("probe for reflinks in", pool, err)
	}
	to, err := os.OpenFile(place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storeError("probe for reflinks in", dir, err)
	}
	w.clone.Store(cloneFile(int(to.Fd()), int(probe.Fd())) == nil)
	return storeError("probe for reflinks in", dir, errors.Join(to.Close(), os.Remove(place)))
}

// linkRefused reports whether a link failed for a reason that a copy has not.
// A limit of one name per inode comes as EMLINK already at the probe.
func linkRefused(err error) bool {
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.ENOTSUP, unix.ENOSYS, unix.EMLINK, unix.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
