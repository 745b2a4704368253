// Package schedules runs what happens by the clock, and knows how each went.
//
// Enters: functions and how often they run. Leaves: for each, when it ran last, how long
// it took, what was wrong with it, and when it runs next. gocron has the clock; one that
// still runs is never started a second time.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Schedule is something that happens by the clock.
type Schedule struct {
	Name string
	// Every is the time between two runs. Now: it runs at the start, too.
	Every time.Duration
	Now   bool
	// Do does it. What it returns is noted and logged; ErrNothing is neither a success
	// nor a failure.
	Do func(ctx context.Context) error
}

// ErrNothing is the class of errors that say that there was nothing to do here.
var ErrNothing = errors.New("nothing to do")

// stopWithin bounds the wait for what runs when a Scheduler is stopped.
const stopWithin = 10 * time.Second

// Scheduler of a daemon.
type Scheduler struct {
	cron gocron.Scheduler
	log  *slog.Logger

	mu   sync.Mutex
	runs map[string]*run
	// names in the order of Add.
	names []string
}

// run is what is known of one schedule.
type run struct {
	job      gocron.Job
	every    time.Duration
	started  time.Time
	running  bool
	took     time.Duration
	good     time.Time
	err      error
	failures int
	count    int
}

// New returns a Scheduler that does nothing before Start.
func New(log *slog.Logger) (*Scheduler, error) {
	opts := []gocron.SchedulerOption{gocron.WithStopTimeout(stopWithin)}
	if log.Enabled(context.Background(), slog.LevelDebug) {
		opts = append(opts, gocron.WithLogger(log))
	}
	cron, err := gocron.NewScheduler(opts...)
	if err != nil {
		return nil, fmt.Errorf("schedules: %w", err)
	}
	return &Scheduler{cron: cron, log: log, runs: map[string]*run{}}, nil
}

// Add adds a schedule; before Start.
func (s *Scheduler) Add(sc Schedule) error {
	opts := []gocron.JobOption{gocron.WithName(sc.Name), gocron.WithSingletonMode(gocron.LimitModeReschedule)}
	if sc.Now {
		opts = append(opts, gocron.WithStartAt(gocron.WithStartImmediately()))
	}
	r := &run{every: sc.Every}
	job, err := s.cron.NewJob(gocron.DurationJob(sc.Every), gocron.NewTask(func(ctx context.Context) { s.do(ctx, sc, r) }), opts...)
	if err != nil {
		return fmt.Errorf("schedule %s: %w", sc.Name, err)
	}
	r.job = job
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[sc.Name], s.names = r, append(s.names, sc.Name)
	return nil
}

func (s *Scheduler) do(ctx context.Context, sc Schedule, r *run) {
	start := time.Now()
	s.mu.Lock()
	r.started, r.running = start, true
	s.mu.Unlock()
	err := sc.Do(ctx)
	took := time.Since(start)
	s.mu.Lock()
	r.running, r.took, r.count = false, took, r.count+1
	switch {
	case err == nil:
		r.good, r.err = time.Now(), nil
	case errors.Is(err, ErrNothing):
		r.err = nil
	case ctx.Err() != nil: // the daemon stops
	default:
		r.err, r.failures = err, r.failures+1
	}
	s.mu.Unlock()
	switch {
	case err == nil:
		s.log.Debug("schedule ran", "schedule", sc.Name, "seconds", took.Seconds())
	case errors.Is(err, ErrNothing), ctx.Err() != nil:
		s.log.Debug("schedule ran", "schedule", sc.Name, "err", err)
	default:
		s.log.Warn("schedule failed", "schedule", sc.Name, "seconds", took.Seconds(), "err", err)
	}
}

// Start starts the clock.
func (s *Scheduler) Start() { s.cron.Start() }

// Stop stops the clock and waits a while for what runs.
func (s *Scheduler) Stop() error { return s.cron.Shutdown() }

// Status of all schedules, in the order in which they were added.
func (s *Scheduler) Status() []api.ScheduleStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]api.ScheduleStatus, 0, len(s.names))
	for _, name := range s.names {
		r := s.runs[name]
		st := api.ScheduleStatus{Name: name, EverySeconds: r.every.Seconds(), Running: r.running, Seconds: r.took.Seconds(), Runs: r.count, Failures: r.failures, Last: stamp(r.started), Good: stamp(r.good)}
		if r.err != nil {
			st.Problem = r.err.Error()
		}
		if next, err := r.job.NextRun(); err == nil {
			st.Next = stamp(next)
		}
		out = append(out, st)
	}
	return out
}

// stamp is a time as the API has it; "" = never.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
