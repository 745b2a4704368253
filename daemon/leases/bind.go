package leases

import (
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/slurm/queries"
)

const (
	// skew is how much the clocks of submit host, storage and slurmctld may differ. MUNGE
	// refuses what differs by more than five minutes.
	skew = 5 * time.Minute
	// window is how long after the handover its job may be submitted: sbatch retries
	// where slurmctld does not answer.
	window = 20 * time.Minute
)

// bind brings a record up to date with all jobs that slurmctld knew at a time, and tells
// whether it changed.
//
// As long as the window is open, every job of the user that was submitted in it may be
// the one. It is settled by the first answer after the window; where that is the first
// answer at all (the daemon was down), jobs may have been requeued meanwhile, which gives
// them a new time of submission: then every later job of the user may be meant, too.
func (r *Record) bind(jobs []queries.LiveJob, asked time.Time) (changed bool) {
	if !r.Ended.IsZero() {
		return false
	}
	first := r.Seen.IsZero()
	if first {
		r.Seen, changed = asked.UTC(), true
	}
	late := first && asked.After(r.At.Add(window))
	if !r.Settled {
		for _, j := range jobs {
			if j.UID != r.UID || slices.Contains(r.Jobs, j.ID) || j.Submitted.Before(r.At.Add(-skew)) || !late && j.Submitted.After(r.At.Add(window)) {
				continue
			}
			r.Jobs, changed = append(r.Jobs, j.ID), true
		}
		if asked.After(r.At.Add(window + skew)) {
			r.Settled, changed = true, true
		}
		if changed {
			r.order(jobs)
		}
	}
	if r.Settled && !r.alive(jobs) {
		r.Ended, changed = asked.UTC(), true
		if r.Why = "slurmctld has forgotten its jobs"; len(r.Jobs) == 0 {
			r.Why = "no job came of it"
		}
	}
	return changed
}

// order puts the likeliest job first: the first that was submitted after the handover.
func (r *Record) order(jobs []queries.LiveJob) {
	at := map[int]time.Time{}
	for _, j := range jobs {
		at[j.ID] = j.Submitted
	}
	away := func(id int) time.Duration {
		t, known := at[id]
		if !known {
			return window * 2
		}
		// squeue tells whole seconds.
		if d := t.Sub(r.At.Truncate(time.Second)); d >= 0 {
			return d
		} else {
			return window - d
		}
	}
	slices.SortStableFunc(r.Jobs, func(a, b int) int {
		if d := away(a) - away(b); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return a - b
	})
}

// alive: slurmctld knows one of its jobs, as its user's.
func (r *Record) alive(jobs []queries.LiveJob) bool {
	return slices.ContainsFunc(jobs, func(j queries.LiveJob) bool { return j.UID == r.UID && slices.Contains(r.Jobs, j.ID) })
}
