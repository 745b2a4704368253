package leases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/handover"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// JobOwner is the user whose job a number is, as its submission has it.
func (k *Keeper) JobOwner(ctx context.Context, job int) (int, error) {
	r, err := k.OfJob(job)
	if errors.Is(err, cache.ErrNotFound) && k.anew(ctx) {
		r, err = k.OfJob(job)
	}
	if errors.Is(err, cache.ErrNotFound) {
		return 0, &usageError{fmt.Errorf("%w\nnext: hpcenv leases --ended lists yours; a job without --env-lock, or one with a store of one's own, has no record", err)}
	}
	if err != nil {
		return 0, err
	}
	return r.UID, nil
}

// usageError is an error that the caller made, of its own classes.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() []error {
	return []error{e.err, api.Errorf(api.ExitUsage, "%s", e.err.Error())}
}

// anew asks Slurm for what it knows now, and tells whether it did: somebody looks at a job
// that was submitted a moment ago. It asks once a second at most; who comes earlier waits.
func (k *Keeper) anew(ctx context.Context) bool {
	wanted := k.opts.Now()
	k.asking.Lock()
	defer k.asking.Unlock()
	k.mu.Lock()
	last := k.asked
	k.mu.Unlock()
	if last.After(wanted) {
		return true // who waited for another's question takes its answer
	}
	ctx, cancel := context.WithTimeout(ctx, freshEnough)
	defer cancel()
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(time.Second, time.Second-wanted.Sub(last))):
	}
	return k.reconcile(ctx) == nil
}

// freshEnough is how old Slurm's last answer may be for lists that people look at.
const freshEnough = 10 * time.Second

// refresh asks Slurm again, unless its answer is fresh enough. That it cannot tell is said
// by Status.
func (k *Keeper) refresh(ctx context.Context) bool {
	wanted := k.opts.Now()
	// Many may look at once: who waited for another's question takes its answer.
	k.asking.Lock()
	defer k.asking.Unlock()
	k.mu.Lock()
	last := k.asked
	k.mu.Unlock()
	switch {
	case last.After(wanted):
		return true
	case wanted.Sub(last) < freshEnough:
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, freshEnough)
	defer cancel()
	return k.reconcile(ctx) == nil
}

// Job tells what a job was submitted with.
func (k *Keeper) Job(_ context.Context, job int) (*api.Job, error) {
	r, err := k.OfJob(job)
	if err != nil {
		return nil, err
	}
	out := &api.Job{ID: job, Lease: r.Lease(), Pin: r.Pin}
	p, err := pin.Decode(r.Pin)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", job, err)
	}
	out.Snapshot = p.Snapshot
	for _, c := range append([]pin.Choice{p.Choice}, p.Others...) {
		if c.Overlay == nil {
			continue
		}
		for _, s := range c.Overlay.Sources {
			src := api.JobSource{Name: s.Name, Dir: s.Dir, Commit: s.Commit, Dirty: s.Dirty}
			if !slices.Contains(out.Sources, src) {
				out.Sources = append(out.Sources, src)
			}
		}
	}
	if p.Plan == nil { // nothing was judged: every node gets it
		for _, platform := range p.Platforms {
			out.Gets = append(out.Gets, api.JobGets{Environment: p.Environment, Platform: platform, ID: p.ID})
		}
		return out, nil
	}
	for _, choice := range p.Plan.Choices() {
		if c := p.Of(choice.Environment); c != nil {
			out.Gets = append(out.Gets, api.JobGets{Environment: choice.Environment, Platform: choice.Platform, ID: c.ID})
		}
	}
	return out, nil
}

// PutName gives a name to what a lock has, of what is prepared. The daemon looks itself:
// who asks says which lock, no more.
func (k *Keeper) PutName(_ context.Context, name string, n *api.PutName, by string) error {
	if err := handover.CheckName(name); err != nil {
		return api.Errorf(api.ExitUsage, "%v", err)
	}
	if !hex(n.Lock, 64) {
		return api.Errorf(api.ExitUsage, "lock %.80q is not a digest", n.Lock)
	}
	store := prepared.Store{Root: k.opts.Store.Root()}
	envs, err := store.Environments(n.Lock)
	if err != nil {
		return api.Errorf(api.ExitUsage, "lock %.8s is not in the store: %v\nnext: hpcenv prepare --all %s", n.Lock, err, n.LockPath)
	}
	out := handover.Name{Name: name, Lock: n.Lock, LockPath: filepath.Clean(n.LockPath), Environments: map[string]string{}, By: by, Note: n.Note, Wish: n.Wish}
	names := n.Environments
	if len(names) == 0 {
		for e := range envs {
			names = append(names, e)
		}
	}
	for _, e := range names {
		env, ok := envs[e]
		if !ok {
			return api.Errorf(api.ExitUsage, "environment %.80q of lock %.8s is not prepared\nnext: hpcenv prepare -e %s %s", e, n.Lock, e, n.LockPath)
		}
		ready := false
		for _, platform := range k.opts.Store.Format().Platforms {
			has, err := store.Has(env, platform)
			if err != nil && !errors.Is(err, cache.ErrNotFound) {
				return err
			}
			ready = ready || has
		}
		switch {
		case ready:
			out.Environments[e] = env.ID
		case len(n.Environments) > 0:
			return api.Errorf(api.ExitUsage, "environment %.80q of lock %.8s is not prepared\nnext: hpcenv prepare -e %s %s", e, n.Lock, e, n.LockPath)
		}
		if act := n.Activations[e]; act != "" && store.HasActivation(n.Lock, act) {
			if out.Activations == nil {
				out.Activations = map[string]string{}
			}
			out.Activations[e] = act
		}
	}
	if len(out.Environments) == 0 {
		return api.Errorf(api.ExitUsage, "nothing of lock %.8s is prepared\nnext: hpcenv prepare --all %s", n.Lock, n.LockPath)
	}
	if n.Description != "" && store.HasDescription(n.Lock, n.Description) {
		out.Description = n.Description
	}
	return k.SetName(out)
}

// DeleteName takes a name away.
func (k *Keeper) DeleteName(name string) error {
	err := k.RemoveName(name)
	if errors.Is(err, handover.ErrName) || errors.Is(err, cache.ErrNotFound) {
		return api.Errorf(api.ExitUsage, "%v\nnext: hpcenv admin pin lists the names", err)
	}
	return err
}
