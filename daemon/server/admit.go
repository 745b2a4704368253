package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// readWithin bounds how long a client may take to send a prepare request.
const readWithin = 5 * time.Minute

// budgets bound the bytes of prepare requests that are read, wait or are worked
// on, by user: what one user sends can exhaust neither the daemon's memory nor
// another user's share of it.
type budgets struct {
	each int64

	mu     sync.Mutex
	byUser map[uint32]*budget
}

type budget struct {
	sem   *semaphore.Weighted
	users int // requests that hold a part or wait for one
}

func newBudgets(each int64) *budgets {
	return &budgets{each: each, byUser: map[uint32]*budget{}}
}

// take waits until uid's requests leave room for size more bytes.
func (b *budgets) take(ctx context.Context, uid uint32, size int64) (release func(), err error) {
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

// admit makes room for a prepare request and returns its body, which must be
// read whole by readWithin from now. release is to be called when nothing holds
// the request any more.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, uid uint32) (release func(), err error) {
	size := r.ContentLength
	if size < 0 || size > s.opts.MaxBody {
		size = s.opts.MaxBody // so much of it is read at most
	}
	release, err = s.budgets.take(r.Context(), uid, size)
	if err != nil {
		return nil, api.Errorf(api.ExitUnreachable, "prepare: gave up waiting for earlier requests of yours: %v", err)
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)); err != nil {
		release()
		return nil, api.Errorf(api.ExitFailed, "prepare: the request's time cannot be bounded: %v", err)
	}
	return release, nil
}
