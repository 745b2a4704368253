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
// The lock's file stays: unlinking it would let two hold locks of one name.
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
	// Network file systems demand a handle that can write for an exclusive lock.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, storeError("open lock", path, err)
	}
	if err := s.own(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := s.acquire(ctx, f, onWait, wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return sync.OnceValue(func() error { return storeError("release lock", path, f.Close()) }), nil
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
