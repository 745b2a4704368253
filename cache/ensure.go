package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Ensure returns the manifest of src's package, after fetching and taking in
// the package where the store lacks it; fetched says whether bytes were
// fetched. Of several callers for one package, in any process, one works and
// the others wait.
func (s *Store) Ensure(ctx context.Context, f *Fetcher, src Source, interpret Interpreter, progress func(done, total int64)) (m *Manifest, fetched bool, err error) {
	return s.ensure(ctx, f, src, interpret, progress, nil)
}

func (s *Store) ensure(ctx context.Context, f *Fetcher, src Source, interpret Interpreter, progress func(done, total int64), onWait func()) (m *Manifest, fetched bool, err error) {
	if m, err := s.Manifest(src.SHA256); !errors.Is(err, ErrNotFound) {
		return m, false, err
	}
	release, err := s.Lock(ctx, packageLock(src), onWait)
	if err != nil {
		return nil, false, fmt.Errorf("package %s: %w", src.Name, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	st, fetched, err := s.stageMissing(ctx, f, src, interpret, progress)
	if err != nil {
		return nil, fetched, err
	}
	if st.temp == "" {
		return st.Manifest, fetched, nil
	}
	b := s.NewBatch()
	b.Add(st)
	if err := b.Commit(ctx); err != nil {
		return nil, fetched, errors.Join(err, b.Discard())
	}
	return st.Manifest, fetched, nil
}

func packageLock(src Source) string { return "package-" + src.SHA256 }

// stageMissing fetches and stages src's package, whose lock the caller holds.
// What is published already comes back as a Staged without a temporary file. Errors
// are PackageErrors.
func (s *Store) stageMissing(ctx context.Context, f *Fetcher, src Source, interpret Interpreter, progress func(done, total int64)) (*Staged, bool, error) {
	st, fetched, err := s.fetchAndStage(ctx, f, src, interpret, progress)
	if err != nil {
		err = &PackageError{SHA256: src.SHA256, Err: err}
	}
	return st, fetched, err
}

func (s *Store) fetchAndStage(ctx context.Context, f *Fetcher, src Source, interpret Interpreter, progress func(done, total int64)) (*Staged, bool, error) {
	m, err := s.Manifest(src.SHA256)
	if err == nil {
		return &Staged{Manifest: m}, false, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, false, err
	}
	path, fetched, err := s.Fetch(ctx, f, src, progress)
	if err != nil {
		return nil, false, err
	}
	st, err := s.Stage(ctx, path, src, interpret)
	if !errors.Is(err, ErrIntegrity) || fetched {
		return st, fetched, err
	}
	// The archive was kept from an earlier run. If its bytes are no longer what
	// they were, fetch it once more; if they are, the package itself is bad.
	if verr := s.verifyFile(ctx, path, src); !errors.Is(verr, ErrIntegrity) {
		return nil, false, err
	}
	if rerr := os.Remove(path); rerr != nil {
		return nil, false, errors.Join(err, storeError("remove", path, rerr))
	}
	if path, fetched, err = s.Fetch(ctx, f, src, progress); err != nil {
		return nil, fetched, err
	}
	st, err = s.Stage(ctx, path, src, interpret)
	return st, fetched, err
}

func (s *Store) verifyFile(ctx context.Context, path string, src Source) error {
	f, err := os.Open(path)
	if err != nil {
		return storeError("open", path, err)
	}
	defer f.Close() // only read
	_, err = verify(ctx, f, src)
	return err
}

// EnsureOptions are the settings of EnsureAll.
type EnsureOptions struct {
	// Workers is the number of packages worked on at one time; default 8.
	Workers int
	// Progress (may be nil) is told how many bytes of srcs[i] are there. It is
	// called by several goroutines at once.
	Progress func(i int, done, total int64)
	// Done (may be nil) is told that srcs[i] is ready to be published or was
	// there. It is called by several goroutines at once.
	Done func(i int, fetched bool)
	// Waiting (may be nil) is told that somebody else works on srcs[i] and that
	// this call now waits for it.
	Waiting func(i int)
}

// EnsureAll is Ensure for many packages, in the order of srcs, with one sync
// for all that is new. The first error ends the work; what was complete by then
// is published all the same, so that the next call goes on from there.
func (s *Store) EnsureAll(ctx context.Context, f *Fetcher, srcs []Source, interpret Interpreter, opt EnsureOptions) ([]*Manifest, error) {
	e := &ensureAll{s: s, f: f, interpret: interpret, opt: opt, out: make([]*Manifest, len(srcs)), batch: s.NewBatch()}
	orDefault(&e.opt.Workers, 8)
	busy, err := e.first(ctx, srcs)
	if err = errors.Join(err, e.commit(ctx)); err != nil {
		return nil, err
	}
	// What others are at: wait for one at a time, holding no other lock, so that
	// two of us never wait for each other.
	for _, i := range busy {
		m, fetched, err := s.ensure(ctx, f, srcs[i], interpret, e.progress(i), func() { e.waiting(i) })
		if err != nil {
			return nil, err
		}
		e.out[i] = m
		e.done(i, fetched)
	}
	return e.out, nil
}

type ensureAll struct {
	s         *Store
	f         *Fetcher
	interpret Interpreter
	opt       EnsureOptions
	out       []*Manifest

	mu       sync.Mutex
	batch    *Batch
	releases []func() error
	busy     []int
}

// first works on every package that nobody else works on, and returns the rest.
func (e *ensureAll) first(ctx context.Context, srcs []Source) ([]int, error) {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(e.opt.Workers, 1))
	for i := range srcs {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return e.one(inner, i, srcs[i]) })
	}
	err := group.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return e.busy, err
}

func (e *ensureAll) one(ctx context.Context, i int, src Source) error {
	m, err := e.s.Manifest(src.SHA256)
	if err == nil {
		e.out[i] = m
		e.done(i, false)
		return nil
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	release, err := e.s.tryLock(ctx, packageLock(src))
	if errors.Is(err, errBusy) {
		e.mu.Lock()
		e.busy = append(e.busy, i)
		e.mu.Unlock()
		return nil
	}
	if err != nil {
		return fmt.Errorf("package %s: %w", src.Name, err)
	}
	st, fetched, err := e.s.stageMissing(ctx, e.f, src, e.interpret, e.progress(i))
	if err != nil {
		return errors.Join(err, release())
	}
	e.out[i] = st.Manifest
	e.mu.Lock()
	if st.temp != "" {
		e.batch.Add(st)
	}
	e.releases = append(e.releases, release)
	e.mu.Unlock()
	e.done(i, fetched)
	return nil
}

// commit publishes what is staged and lets its locks go.
func (e *ensureAll) commit(ctx context.Context) error {
	err := e.batch.Commit(ctx)
	if err != nil {
		err = errors.Join(err, e.batch.Discard())
	}
	for _, release := range e.releases {
		err = errors.Join(err, release())
	}
	return err
}

func (e *ensureAll) progress(i int) func(done, total int64) {
	if e.opt.Progress == nil {
		return nil
	}
	return func(done, total int64) { e.opt.Progress(i, done, total) }
}

func (e *ensureAll) done(i int, fetched bool) {
	if e.opt.Done != nil {
		e.opt.Done(i, fetched)
	}
}

func (e *ensureAll) waiting(i int) {
	if e.opt.Waiting != nil {
		e.opt.Waiting(i)
	}
}
