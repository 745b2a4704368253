package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// jobs holds the work that runs, by what was asked for.
type jobs struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	byKey  map[string]*job
	group  sync.WaitGroup
}

func newJobs() *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{ctx: ctx, cancel: cancel, byKey: map[string]*job{}}
}

// join returns the running job for key, or starts work as a new one, after which
// release is called. Nil means that the server stops. work must not panic.
func (js *jobs) join(key string, of about, release func(), work func(context.Context, func(api.Event)) (*api.PrepareResult, error)) (j *job, joined bool) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j := js.byKey[key]; j != nil {
		return j, true
	}
	if js.ctx.Err() != nil {
		return nil, false
	}
	j = &job{about: of, progress: map[string]slot{}, changed: make(chan struct{})}
	js.byKey[key] = j
	js.group.Go(func() {
		defer release()
		result, err := work(js.ctx, j.event)
		js.mu.Lock()
		delete(js.byKey, key)
		js.mu.Unlock()
		j.finish(result, err)
	})
	return j, false
}

// wait returns when all work ended, or with ctx's error.
func (js *jobs) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { js.group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// about says whose work a job is.
type about struct {
	uid   int
	lock  string
	since time.Time
}

// Work is what runs or waits now, the oldest first.
func (s *Server) Work() []api.WorkStatus {
	s.jobs.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs.byKey))
	s.jobs.mu.Unlock()
	slices.SortFunc(jobs, func(a, b *job) int { return a.since.Compare(b.since) })
	out := make([]api.WorkStatus, 0, len(jobs))
	for _, j := range jobs {
		j.mu.Lock()
		w := api.WorkStatus{UID: j.uid, Lock: j.lock, Since: j.since.UTC().Format(time.RFC3339), Waiters: j.followers}
		w.PackagesDone, w.PackagesTotal, w.BytesDone, w.BytesTotal = j.totals.PackagesDone, j.totals.PackagesTotal, j.totals.BytesDone, j.totals.BytesTotal
		j.mu.Unlock()
		out = append(out, w)
	}
	return out
}

// job is one piece of work and what it has told so far. Milestones are kept in
// order; of a running download only the latest word counts, so a slow reader
// skips words and the job's memory is bounded by its packages.
type job struct {
	about
	mu         sync.Mutex
	milestones []api.Event
	progress   map[string]slot
	seq        uint64
	followers  int
	totals     api.Event     // the last that had totals
	changed    chan struct{} // closed and replaced whenever something is new
	done       bool
	result     *api.PrepareResult
	err        error
}

type slot struct {
	event api.Event
	seq   uint64
}

func (j *job) event(e api.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	if e.PackagesTotal > 0 {
		j.totals = e
	}
	if e.Type == api.EventFetch {
		j.progress[e.Package] = slot{e, j.seq}
	} else {
		if e.Type == api.EventFetched {
			delete(j.progress, e.Package)
		}
		j.milestones = append(j.milestones, e)
	}
	j.wake()
}

func (j *job) finish(result *api.PrepareResult, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done, j.result, j.err = true, result, err
	j.wake()
}

func (j *job) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// follow hands send everything the job tells, from its start, until it is done
// (then nil), send fails, or ctx ends.
func (j *job) follow(ctx context.Context, send func([]api.Event) error) error {
	j.mu.Lock()
	j.followers++
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		j.followers--
		j.mu.Unlock()
	}()
	var next int
	var seen uint64
	for {
		j.mu.Lock()
		events := append([]api.Event(nil), j.milestones[next:]...)
		next = len(j.milestones)
		for _, s := range j.progress {
			if s.seq > seen {
				events = append(events, s.event)
			}
		}
		seen = j.seq
		done, changed := j.done, j.changed
		j.mu.Unlock()
		if len(events) > 0 {
			if err := send(events); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
