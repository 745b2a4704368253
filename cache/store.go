package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache/archive"
)

// Store is a package store at one directory. Its methods may be called from
// many goroutines and, on one store, from many processes and hosts at once;
// only the owner may call those that write.
//
// Layout: FORMAT; pool/files (content), pool/packages (manifests), pool/pyc (what
// sources compile to), archives
// (downloads), locks, trees, images, meta, inventory, names, pins, grants,
// private, inbox (written by users), trash and tmp. Everything becomes visible
// by a rename from tmp/.
type Store struct {
	root   string
	format Format
	// bzip2 decompresses large archives; nil = the standard library's.
	bzip2 archive.Decompressor
	// good holds the pool names whose content this process knows to be right:
	// hashed by it, or written by it.
	good sync.Map
	// adding: one taker of a content at a time in this process, by digest.
	adding [64]sync.Mutex
	// verified holds, by path, the archives that this process has just fetched
	// and verified (verifiedArchive); taking one in takes it out.
	verified sync.Map
	// memory bounds what decoders take together.
	memory archive.Budget
	// siblings holds, by pool name, the number of the sibling that takes links
	// now; absent = the file itself.
	siblings sync.Map
	// sibling serializes the making of siblings.
	sibling sync.Mutex
	// absent: nothing was made at root.
	absent bool
	// local is where pool and tmp lie instead of in root; see UseLocal.
	local string
	// private is set in a part of a store that is one group's own.
	private *private
	// hold is the right to publish, where Hold was called; nil = nobody asked for it.
	hold atomic.Pointer[Hold]
}

// layout lists a store's directories below its root, parents first.
func layout(f Format) []string {
	dirs := []string{"pool", "pool/files", "pool/packages", "pool/elf", "pool/pyc", "archives", "locks", "trees", "images",
		"meta", "inventory", "names", "pins", "grants", "private", "inbox", "trash", "tmp", "tmp/locks"}
	for _, p := range f.Platforms {
		dirs = append(dirs, "trees/"+p, "images/"+p)
	}
	return dirs
}

// inboxMode: everyone may leave something and nobody sees what others left. In
// a user's own store nobody else has anything to leave.
const inboxMode = 0o733 | os.ModeSticky

// Create makes a store at root, or opens the one that is there if its format
// is equal; another format is an ErrStore error. The process must run as
// format.OwnerUID, or as root, which then hands the directories over.
func Create(root string, format Format) (*Store, error) {
	f, err := format.normal()
	if err != nil {
		return nil, err
	}
	if euid := os.Geteuid(); euid != 0 && euid != f.OwnerUID {
		return nil, fmt.Errorf("%w: %s shall belong to uid %d, but this is uid %d; create it as its owner or as root", ErrStore, root, f.OwnerUID, euid)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, root, err)
	}
	there, err := readFormat(root)
	switch {
	case err == nil && !there.equal(f):
		return nil, fmt.Errorf("%w: %s is a store of another format (%s, not %s); open it, or choose another directory", ErrStore, root, there.text(), f.text())
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return nil, storeError("create directory", filepath.Dir(root), err)
	}
	s := &Store{root: root, format: f}
	if f.PrefixRoot == "" {
		// A user's own store is nobody else's business: what a credential fetches
		// lies there, too. A directory that is there has the mode that its owner wants.
		if err := os.Mkdir(root, 0o700); err == nil {
			if err := errors.Join(s.own(root), os.Chmod(root, 0o700)); err != nil {
				return nil, storeError("make", root, err)
			}
		} else if !errors.Is(err, os.ErrExist) {
			return nil, storeError("create directory", root, err)
		}
	}
	if err := s.makeLayout(); err != nil {
		return nil, err
	}
	if there.Version == 0 {
		if err := s.saveFormat(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) makeLayout() error {
	if s.format.PrefixRoot != "" || s.private != nil {
		if err := s.ensureDir(s.root, 0o755); err != nil {
			return err
		}
	}
	for _, d := range layout(s.format) {
		mode := os.FileMode(0o755)
		if d == "inbox" && s.format.PrefixRoot != "" && s.private == nil {
			mode = inboxMode
		}
		if err := s.ensureDir(filepath.Join(s.root, d), mode); err != nil {
			return err
		}
	}
	return nil
}

// ensureDir makes one directory with exactly this mode, whatever the umask, and
// the store's owner. One that is there keeps what it has.
func (s *Store) ensureDir(path string, mode os.FileMode) error {
	mode = s.dirMode(mode)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, os.ErrExist) {
		st, err := os.Stat(path)
		if err != nil {
			return storeError("look at", path, err)
		}
		if !st.IsDir() {
			return storeError("create directory", path, unix.ENOTDIR)
		}
		if path == s.root && st.Mode().Perm() == mode.Perm() {
			return s.own(path)
		}
		if path != s.root {
			return nil
		}
	} else if err != nil {
		return storeError("create directory", path, err)
	}
	// The owner first: a change of it may take bits of the mode away.
	if err := s.own(path); err != nil {
		return err
	}
	return storeError("set the mode of", path, os.Chmod(path, mode))
}

// own gives path to the store's owner where root made it, and to the store's
// group if it has one.
func (s *Store) own(path string) error {
	if s.private != nil {
		if err := s.giveToGroup(path); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 || s.format.OwnerUID == 0 {
		return nil
	}
	return storeError("change the owner of", path, os.Lchown(path, s.format.OwnerUID, -1))
}

// ownFile is own for an open file, whatever its name is by now.
func (s *Store) ownFile(f *os.File) error {
	if os.Geteuid() != 0 || s.format.OwnerUID == 0 {
		return nil
	}
	return storeError("change the owner of", f.Name(), f.Chown(s.format.OwnerUID, -1))
}

// Open opens the store at root for reading and, for its owner, writing. A
// missing or unreadable FORMAT and a newer layout are ErrStore errors.
func Open(root string) (*Store, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, root, err)
	}
	f, err := readFormat(abs)
	if err != nil {
		return nil, err
	}
	return &Store{root: abs, format: f}, nil
}

// Absent is the store that Create would make at root, before it does: it holds
// nothing and takes nothing. It serves to tell what would be done there.
func Absent(root string, format Format) (*Store, error) {
	f, err := format.normal()
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, root, err)
	}
	return &Store{root: root, format: f, absent: true}, nil
}

func (f Format) text() string {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Sprintf("%+v", struct{ Version, OwnerUID int }{f.Version, f.OwnerUID})
	}
	return string(data)
}

// Root is the store's absolute path on this host.
func (s *Store) Root() string { return s.root }

// Format is what the store's FORMAT says.
func (s *Store) Format() Format { return s.format }

// UseBzip2 sets what decompresses large .tar.bz2 archives; it must be called
// before the store is used. The parallel decompressor is not built in: its
// tables cost 30 ms and 10 MB whenever a program that links it starts, and the
// command line must start in a few milliseconds.
func (s *Store) UseBzip2(d archive.Decompressor) { s.bzip2 = d }
