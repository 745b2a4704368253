package leases

import (
	"context"
	"fmt"
	"time"
)

// Kinds of reasons.
const (
	// KindJob: a job that slurmctld knows may need it; KindToken: a submission whose job
	// was not seen yet.
	KindJob   = "job"
	KindToken = "token"
	// KindName: an administrator gave it a name.
	KindName = "name"
)

// Reason is why an environment may not be collected.
type Reason struct {
	// Kind is one of the Kind constants.
	Kind string `json:"kind"`
	// Text for people.
	Text string `json:"text"`
	// UID of the user, Job's number; of names both are 0.
	UID int `json:"uid,omitempty"`
	Job int `json:"job,omitempty"`
	// Since it holds.
	Since time.Time `json:"since"`
}

// Held is what may not be collected.
type Held struct {
	// IDs of environments, with why.
	IDs map[string][]Reason
	// Locks are digests of locks that must stay: those that environments can be made of
	// again.
	Locks map[string]bool
}

// Held says what may not be collected now, after it asked Slurm. An error is of class
// ErrUnknown: nothing may be collected.
func (k *Keeper) Held(ctx context.Context) (*Held, error) {
	if err := k.Reconcile(ctx); err != nil {
		return nil, err
	}
	return k.HeldAsKnown()
}

// HeldAsKnown is Held without asking Slurm again: what the last answer said, and all that
// was handed over since. It is for the check before each single removal.
func (k *Keeper) HeldAsKnown() (*Held, error) {
	names, err := k.Names()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	h := &Held{IDs: map[string][]Reason{}, Locks: map[string]bool{}}
	for _, n := range names {
		h.Locks[n.Lock] = true
		for _, id := range n.IDs() {
			h.IDs[id] = append(h.IDs[id], Reason{Kind: KindName, Text: "named " + n.Name, Since: n.At})
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.records {
		why := Reason{Kind: KindToken, UID: r.UID, Since: r.At, Text: fmt.Sprintf("submitted by uid %d at %s", r.UID, r.At.Format(time.RFC3339))}
		if len(r.Jobs) > 0 {
			why.Kind, why.Job, why.Text = KindJob, r.Jobs[0], fmt.Sprintf("job %d of uid %d", r.Jobs[0], r.UID)
		}
		if l := r.Lease(); l.Lock != "" {
			h.Locks[l.Lock] = true
		}
		for _, id := range r.IDs {
			h.IDs[id] = append(h.IDs[id], why)
		}
	}
	return h, nil
}
