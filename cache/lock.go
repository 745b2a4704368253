package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockPollMin = 5 * time.Millisecond
	lockPollMax = 250 * time.Millisecond
)

// Lock takes the exclusive lock named key among all processes and goroutines
// that use the store, so that one works and the others wait. onWait (may be nil)
// is called once if somebody else holds it. The lock ends with release, or with
// the process. No rule of the store's validity rests on locks: they spare
// double work and keep two from writing one partial download.
//
// The lock's file goes with the lock, since shared storage counts inodes. Whoever
// got the lock of a file therefore looks whether it is still the one of that name.
func (s *Store) Lock(ctx context.Context, key string, onWait func()) (release func() error, err error) {
	return s.lock(ctx, key, onWait, true)
}

// errBusy: somebody else holds the lock.
var errBusy = errors.New("lock is held")

// tryLock is Lock without waiting: errBusy if somebody else holds it.
func (s *Store) tryLock(ctx context.Context, key string) (release func() error, err error) {
	return s.lock(ctx, key, nil, false)
}

func (s *Store) lock(ctx context.Context, key string, onWait func(), wait bool) (func() error, error) {
	if !safeName(key) {
		return nil, fmt.Errorf("%w: %q cannot be a lock's name", ErrStore, key)
	}
	path := s.tmp("locks", key)
	for {
		f, err := s.openLock(path)
		if err != nil {
			return nil, err
		}
		current := false
		if err = s.acquire(ctx, f, onWait, wait); err == nil {
			current, err = sameFile(f, path)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if current {
			return sync.OnceValue(func() error {
				return storeError("release lock", path, errors.Join(ignore(os.Remove(path), os.ErrNotExist), f.Close()))
			}), nil
		}
		if err := f.Close(); err != nil {
			return nil, storeError("release lock", path, err)
		}
	}
}

func (s *Store) openLock(path string) (*os.File, error) {
	// Network file systems demand a handle that can write for an exclusive lock.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, storeError("open lock", path, err)
	}
	if err := s.ownFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sameFile tells whether an open file is still the one at path. The name is opened
// again: that makes a network file system ask the server.
func sameFile(f *os.File, path string) (bool, error) {
	now, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESTALE) {
		return false, nil
	}
	if err != nil {
		return false, storeError("open lock", path, err)
	}
	defer now.Close() // only looked at
	a, err := f.Stat()
	if err != nil {
		return false, storeError("look at", path, err)
	}
	b, err := now.Stat()
	if err != nil {
		return false, storeError("look at", path, err)
	}
	return os.SameFile(a, b), nil
}

func (s *Store) acquire(ctx context.Context, f *os.File, onWait func(), wait bool) error {
	for pause := lockPollMin; ; pause = min(pause*2, lockPollMax) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for lock %s: %w", f.Name(), context.Cause(ctx))
		}
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return storeError("lock", f.Name(), err)
		case !wait:
			return errBusy
		}
		if onWait != nil {
			onWait()
			onWait = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
