package prepare

import (
	"sync"
	"time"
)

// fetchEvery is the least time between two events of one download.
const fetchEvery = 100 * time.Millisecond

// progress makes one stream of events of what happens in many goroutines. The
// receiver is called by one of them at a time.
type progress struct {
	mu     sync.Mutex
	report func(Event)
	totals Event
	done   map[string]int64 // bytes so far of running downloads
	last   map[string]time.Time
}

func newProgress(report func(Event)) *progress {
	if report == nil {
		report = func(Event) {}
	}
	return &progress{report: report, done: map[string]int64{}, last: map[string]time.Time{}}
}

// send reports e with the totals so far.
func (p *progress) send(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sendLocked(e)
}

func (p *progress) sendLocked(e Event) {
	e.PackagesDone, e.PackagesTotal = p.totals.PackagesDone, p.totals.PackagesTotal
	e.BytesDone, e.BytesTotal = p.totals.BytesDone, p.totals.BytesTotal
	for _, n := range p.done {
		e.BytesDone += n
	}
	p.report(e)
}

// start sets the totals: kept packages of all, and bytes to fetch.
func (p *progress) start(kept, all int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.totals.PackagesDone, p.totals.PackagesTotal, p.totals.BytesTotal = kept, all, bytes
	p.sendLocked(Event{Type: EventPlan})
}

// fetching reports that a download moved.
func (p *progress) fetching(name string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[name] = done
	now := time.Now()
	if now.Sub(p.last[name]) < fetchEvery {
		return
	}
	p.last[name] = now
	p.sendLocked(Event{Type: EventFetch, Package: name, Done: done, Total: total})
}

// fetched reports that a package is there; size is that of its archive.
func (p *progress) fetched(name string, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.done, name)
	delete(p.last, name)
	p.totals.PackagesDone++
	p.totals.BytesDone += size
	p.sendLocked(Event{Type: EventFetched, Package: name, Done: size, Total: size})
}
