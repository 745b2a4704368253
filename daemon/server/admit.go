package server

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// shares bound the bytes of requests that are read, wait or are worked on, by user:
// what one user sends can exhaust neither the daemon's memory nor another user's share
// of it.
type shares struct {
	each int64

	mu     sync.Mutex
	byUser map[int]*userShare
}

type userShare struct {
	sem   *semaphore.Weighted
	users int // requests that hold a part or wait for one
}

func newShares(each int64) *shares {
	return &shares{each: each, byUser: map[int]*userShare{}}
}

// take waits until uid's requests leave room for size more bytes.
func (b *shares) take(ctx context.Context, uid int, size int64) (release func(), err error) {
	size = min(max(size, 1), b.each)
	b.mu.Lock()
	u := b.byUser[uid]
	if u == nil {
		u = &userShare{sem: semaphore.NewWeighted(b.each)}
		b.byUser[uid] = u
	}
	u.users++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(b.byUser, uid)
		}
	}
	if err := u.sem.Acquire(ctx, size); err != nil {
		leave()
		return nil, err
	}
	return sync.OnceFunc(func() { u.sem.Release(size); leave() }), nil
}
