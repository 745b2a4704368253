package server

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// budgets bound the bytes of requests that are read, wait or are worked on, by user:
// what one user sends can exhaust neither the daemon's memory nor another user's share
// of it.
type budgets struct {
	each int64

	mu     sync.Mutex
	byUser map[int]*budget
}

type budget struct {
	sem   *semaphore.Weighted
	users int // requests that hold a part or wait for one
}

func newBudgets(each int64) *budgets {
	return &budgets{each: each, byUser: map[int]*budget{}}
}

// take waits until uid's requests leave room for size more bytes.
func (b *budgets) take(ctx context.Context, uid int, size int64) (release func(), err error) {
	size = min(max(size, 1), b.each)
	b.mu.Lock()
	u := b.byUser[uid]
	if u == nil {
		u = &budget{sem: semaphore.NewWeighted(b.each)}
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
