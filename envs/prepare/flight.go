package prepare

import (
	"context"
	"sync"
)

// Flights lets the Runs of one process share packages: one of them takes a
// package in, the others wait for it. (Between processes the cache's locks on
// archives spare the second download.)
//
// A Run claims all packages it misses at once, finishes those it got, and only
// then waits for those that others got; so no two Runs wait for one another.
type Flights struct {
	mu   sync.Mutex
	byID map[string]*flight
}

// NewFlights returns an empty set.
func NewFlights() *Flights { return &Flights{byID: map[string]*flight{}} }

type flight struct {
	done chan struct{}
	ok   bool // the package is published; set before done is closed
}

// claim returns which of the packages the caller must take in (and then
// finish, each one), and which somebody else does.
func (f *Flights) claim(ids []string) (mine []string, theirs []*flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if other := f.byID[id]; other != nil {
			theirs = append(theirs, other)
			continue
		}
		f.byID[id] = &flight{done: make(chan struct{})}
		mine = append(mine, id)
	}
	return mine, theirs
}

// finish ends claims; ok tells whether the packages are published.
func (f *Flights) finish(ids []string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		fl := f.byID[id]
		delete(f.byID, id)
		fl.ok = ok
		close(fl.done)
	}
}

// wait returns when all flights ended; all tells whether each was published.
func wait(ctx context.Context, flights []*flight) (all bool, err error) {
	all = true
	for _, fl := range flights {
		select {
		case <-fl.done:
			all = all && fl.ok
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return all, nil
}
