// Package fair shares a number of places among clients, so that none of them
// can keep all others waiting, whatever it asks for and however long that takes.
//
// Enters: who asks (With). Leaves: leave to work (Acquire).
package fair

import (
	"context"
	"sync"
)

type clientKey struct{}

// With returns a context whose work counts as client's. The work of a context
// without a client is not limited beyond the number of places.
func With(ctx context.Context, client any) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// Limiter has a number of places. A quarter of them, at least one of several, is
// kept free for clients that have none yet.
type Limiter struct {
	total, reserve int

	mu      sync.Mutex
	used    int
	held    map[any]int
	changed chan struct{} // closed and replaced whenever a place is given back
}

// New returns a Limiter with so many places, at least one.
func New(places int) *Limiter {
	l := &Limiter{total: max(places, 1), held: map[any]int{}, changed: make(chan struct{})}
	if l.total > 1 {
		l.reserve = max(l.total/4, 1)
	}
	return l
}

// Acquire takes a place for ctx's client; release gives it back. wait (may be
// nil) is called once if there is none at the moment. The error is ctx's cause.
func (l *Limiter) Acquire(ctx context.Context, wait func()) (release func(), err error) {
	client := ctx.Value(clientKey{})
	for {
		changed, ok := l.take(client)
		if ok {
			return sync.OnceFunc(func() { l.give(client) }), nil
		}
		if wait != nil {
			wait()
			wait = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *Limiter) take(client any) (changed <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.total - l.used
	if free == 0 || client != nil && l.held[client] > 0 && free <= l.reserve {
		return l.changed, false
	}
	l.used++
	l.held[client]++
	return nil, true
}

func (l *Limiter) give(client any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	if l.held[client]--; l.held[client] == 0 {
		delete(l.held, client)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}
