package service

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/prepare"
)

const (
	// askFor is how long an archive that was asked for is taken.
	askFor = time.Hour
	// maxHandOver bounds an archive of which the lock gives no size, in bytes.
	maxHandOver = 20 << 30
)

// wanted holds the archives that clients were asked for: nothing else is
// taken, so nobody can fill the store with what no lock names.
type wanted struct {
	mu    sync.Mutex
	bySHA map[string]want
}

type want struct {
	source cache.Source
	until  time.Time
	// private: a credential is needed for it, so it is for the group of who brings
	// it, and for nobody else.
	private bool
}

// ask notes which packages are needed and returns the error that tells the
// client. refusal is what a server said that wants a credential for them; nil =
// they lie in local files.
func (w *wanted) ask(packages []*lockfile.CondaPackage, wheels []*lockfile.PyPIPackage, pythons []*lockfile.StandalonePython, refusal error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for sha, x := range w.bySHA {
		if now.After(x.until) {
			delete(w.bySHA, sha)
		}
	}
	if w.bySHA == nil {
		w.bySHA = map[string]want{}
	}
	out := &api.NeedError{}
	add := func(src cache.Source, location string, err error) error {
		if err != nil {
			return err
		}
		w.bySHA[src.SHA256] = want{source: src, until: now.Add(askFor), private: refusal != nil}
		n := api.Need{Package: src.Name, Location: location, SHA256: src.SHA256, Size: src.Size, MD5: src.MD5, Format: string(src.Format)}
		if refusal != nil {
			n.Credential, n.Refusal = true, refusal.Error()
		}
		out.Archives = append(out.Archives, n)
		return nil
	}
	for _, p := range packages {
		src, err := prepare.Source(p)
		if err := add(src, p.Location, err); err != nil {
			return err
		}
	}
	for _, p := range wheels {
		src, err := prepare.WheelSource(p)
		if err := add(src, p.Location, err); err != nil {
			return err
		}
	}
	for _, p := range pythons {
		src, err := prepare.StandaloneSource(p)
		if err := add(src, p.URL, err); err != nil {
			return err
		}
	}
	return out
}

func (w *wanted) get(sha string) (want, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.bySHA[sha]
	return x, ok && time.Now().Before(x.until)
}

// PutArchive takes the bytes of an archive that Prepare asked for, from any
// user: what counts is that they have the digest. What a credential fetched goes
// into the part of the store that only group, the user's primary one, reads.
func (s *Service) PutArchive(ctx context.Context, group int, sha string, r io.Reader) error {
	x, ok := s.wanted.get(sha)
	if !ok {
		return api.Errorf(api.ExitUsage, "archive %s was not asked for\nnext: prepare the lock that names it", sha)
	}
	if x.source.Size == 0 {
		r = io.LimitReader(r, maxHandOver)
	}
	store := s.opts.Store
	if x.private {
		var err error
		if store, err = store.Private(group); err != nil {
			return err
		}
	}
	if err := store.ImportArchive(ctx, r, x.source); err != nil {
		return err
	}
	return store.MarkClosed(x.source)
}

// Holds reports whether a package that somebody of group brought is in the group's
// part of the store, as an archive or taken in.
func (s *Service) Holds(group int, sha string) (bool, error) {
	x, ok := s.wanted.get(sha)
	if !ok || !s.opts.Store.HasPrivate(group) {
		return false, nil
	}
	store, err := s.opts.Store.Private(group)
	if err != nil {
		return false, err
	}
	return store.Holds(x.source)
}

// closed tells which packages the group's part of the store has because a credential
// fetched them. Everybody's store need not ask for those: it would not get them.
func (s *Service) closed(group int) func(cache.Source) (bool, error) {
	if s.opts.Embedded || !s.opts.Store.HasPrivate(group) {
		return nil
	}
	return func(src cache.Source) (bool, error) {
		store, err := s.opts.Store.Private(group)
		if err != nil {
			return false, err
		}
		return store.Closed(src)
	}
}

// OwnParts are those of the groups that have a part of the store, in order: what is
// made for their members depends on it.
func (s *Service) OwnParts(groups []int) (out []int) {
	for _, gid := range groups {
		if s.opts.Store.HasPrivate(gid) && !slices.Contains(out, gid) {
			out = append(out, gid)
		}
	}
	slices.Sort(out)
	return out
}
