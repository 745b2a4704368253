package materialize

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// applier puts what scripts changed into a staged tree, through the pool. It knows
// every path of the tree, so it never follows a link that lies there.
type applier struct {
	store *cache.Store
	adder *cache.Adder
	pool  *cache.Linker
	root  *os.File
	owner int
	paths map[string]line
}

func newApplier(store *cache.Store, staging string, tree *written) (*applier, error) {
	a := &applier{store: store, owner: -1, paths: make(map[string]line, len(tree.lines))}
	for _, l := range tree.lines {
		a.paths[l.path] = l
	}
	if uid := store.Format().OwnerUID; os.Geteuid() == 0 && uid != 0 {
		a.owner = uid
	}
	var err error
	if a.root, err = os.Open(staging); err != nil {
		return nil, fmt.Errorf("%w: staging directory: %w", cache.ErrStore, err)
	}
	if a.adder, err = store.NewAdder(); err != nil {
		return nil, errors.Join(err, a.root.Close())
	}
	if a.pool, err = store.NewLinker(staging); err != nil {
		return nil, errors.Join(err, a.adder.Close(), a.root.Close())
	}
	return a, nil
}

func (a *applier) close() error {
	return errors.Join(a.pool.Close(), a.adder.Close(), failed("close", "the prefix", a.root.Close()))
}

func (a *applier) fd() int { return int(a.root.Fd()) }

// apply carries out changes, which are sorted by path and were verified.
func (a *applier) apply(ctx context.Context, changes []linkscript.Change) error {
	changed := make(map[string]bool, len(changes))
	for _, c := range changes {
		changed[c.Path] = true
	}
	// What a directory holds goes before the directory.
	for i := len(changes) - 1; i >= 0; i-- {
		if err := a.remove(changes[i].Path); err != nil {
			return err
		}
	}
	// A compiled file is taken without a look at its source, so it goes with it.
	for p := range a.paths {
		if src := sourceOf(p); src != "" && changed[src] && !changed[p] {
			if err := a.remove(p); err != nil {
				return err
			}
		}
	}
	for _, c := range changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.Kind == linkscript.Gone {
			continue
		}
		if err := a.add(c); err != nil {
			return err
		}
	}
	return nil
}

// parent refuses a path below what is no directory.
func (a *applier) parent(p string) error {
	dir := path.Dir(p)
	if dir != "." && a.paths[dir].kind != 'd' {
		return fmt.Errorf("%w: a script changed %s, which lies below no directory", cache.ErrUnsafe, p)
	}
	return nil
}

func (a *applier) remove(p string) error {
	l, ok := a.paths[p]
	if !ok {
		return nil
	}
	if err := a.parent(p); err != nil {
		return err
	}
	flags := 0
	if l.kind == 'd' {
		flags = unix.AT_REMOVEDIR
	}
	delete(a.paths, p)
	return failed("remove", p, unix.Unlinkat(a.fd(), p, flags))
}

func (a *applier) add(c linkscript.Change) error {
	if err := a.parent(c.Path); err != nil {
		return err
	}
	l := line{path: c.Path, exec: c.Exec}
	switch c.Kind {
	case linkscript.Dir:
		l.kind = 'd'
		if err := unix.Mkdirat(a.fd(), c.Path, 0o755); err != nil {
			return failed("make directory", c.Path, err)
		}
		if err := unix.Fchmodat(a.fd(), c.Path, 0o755, 0); err != nil {
			return failed("set mode of", c.Path, err)
		}
	case linkscript.Link:
		l.kind, l.value, l.exec = 'l', c.Target, false
		if err := unix.Symlinkat(c.Target, a.fd(), c.Path); err != nil {
			return failed("make link", c.Path, err)
		}
		if err := unix.UtimesNanoAt(a.fd(), c.Path, fixedTimes, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return failed("set time of", c.Path, err)
		}
	default:
		e, method, err := a.file(c)
		if err != nil {
			return err
		}
		l.kind, l.value, l.size, l.pooled, l.method = 'f', e.SHA256, e.Size, true, method
	}
	a.paths[c.Path] = l
	if a.owner >= 0 && l.kind != 'f' {
		return failed("set owner of", c.Path, unix.Fchownat(a.fd(), c.Path, a.owner, -1, unix.AT_SYMLINK_NOFOLLOW))
	}
	return nil
}

// file takes a file's content into the pool and places it.
func (a *applier) file(c linkscript.Change) (e cache.Entry, m cache.Method, err error) {
	fd, err := unix.Open(c.Content, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return e, 0, failed("read", c.Content, err)
	}
	src := os.NewFile(uintptr(fd), c.Content)
	defer src.Close() // only read
	e = cache.Entry{Path: c.Path, Type: cache.EntryFile, Exec: c.Exec, Size: c.Size}
	if e.SHA256, err = a.adder.AddFile(src, c.Size, c.Exec); err != nil {
		return e, 0, err
	}
	if e.SHA256 != c.SHA256 {
		return e, 0, fmt.Errorf("%w: %s changed after it was looked at", cache.ErrIntegrity, c.Path)
	}
	m, err = a.pool.LinkAt(a.fd(), c.Path, e)
	return e, m, err
}

// finish tells what the tree is now.
func (a *applier) finish(tree *written) *written {
	siblings, bytes := a.pool.Siblings()
	return &written{
		lines: slices.Collect(maps.Values(a.paths)), method: tree.method,
		siblings: tree.siblings + siblings, siblingBytes: tree.siblingBytes + bytes,
	}
}
