package budget

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Ledger tells what users have.
type Ledger interface {
	// Usage sums up the environments that are there and that were asked for by a user, or
	// by somebody with a primary group; the other is nil.
	Usage(ctx context.Context, uid, gid *int) (api.Usage, error)
}

// Keeper applies rules. It may be used by several goroutines.
type Keeper struct {
	ledger Ledger
	rules  atomic.Pointer[Rules]

	mu      sync.Mutex
	working map[string]int
	changed chan struct{} // closed and replaced whenever a place is given back
}

// NewKeeper returns one with rules.
func NewKeeper(l Ledger, r Rules) *Keeper {
	k := &Keeper{ledger: l, working: map[string]int{}, changed: make(chan struct{})}
	k.SetRules(r)
	return k
}

// SetRules changes the rules for what is asked from now on.
func (k *Keeper) SetRules(r Rules) { k.rules.Store(&r) }

// Allow is asked before something is made for who. Errors are of class ErrBudget, or the
// ledger's. What was begun within a budget is finished: several that are asked for at one
// time may go over it together.
func (k *Keeper) Allow(ctx context.Context, who Who, want Want) error {
	for _, a := range k.rules.Load().of(who) {
		if err := a.channels(want); err != nil {
			return err
		}
		if a.MaxBytes == 0 && a.MaxInodes == 0 {
			continue
		}
		have, err := k.ledger.Usage(ctx, a.uid, a.gid)
		if err != nil {
			return fmt.Errorf("what of %s is used is not known: %w", a.whose(), err)
		}
		const next = "next: hpcenv list --mine shows what counts, hpcenv list --release ID gives up what is not needed any more; or ask an administrator of hpcenv (budgets in hpcenvd.yaml)"
		if a.MaxBytes > 0 && have.Bytes+want.Bytes > a.MaxBytes {
			return fmt.Errorf("%w: %s is %s, %s of it are used by %d environments, and this takes at least %s more\n%s",
				ErrBudget, a.whose(), size(a.MaxBytes), size(have.Bytes), have.Environments, size(want.Bytes), next)
		}
		if a.MaxInodes > 0 && have.Inodes >= a.MaxInodes {
			return fmt.Errorf("%w: %s is %d inodes, %d are used by %d environments\n%s", ErrBudget, a.whose(), a.MaxInodes, have.Inodes, have.Environments, next)
		}
	}
	return nil
}

// Slot waits until who may work; release ends that. wait (may be nil) is called once if
// it must. The error is ctx's cause.
func (k *Keeper) Slot(ctx context.Context, who Who, wait func()) (release func(), err error) {
	for {
		limits := k.rules.Load().of(who)
		k.mu.Lock()
		full := slices.ContainsFunc(limits, func(a applied) bool { return a.Prepares > 0 && k.working[a.key()] >= a.Prepares })
		changed := k.changed
		if !full {
			for _, a := range limits {
				k.working[a.key()]++
			}
			k.mu.Unlock()
			return sync.OnceFunc(func() { k.leave(limits) }), nil
		}
		k.mu.Unlock()
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

func (k *Keeper) leave(limits []applied) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range limits {
		if k.working[a.key()]--; k.working[a.key()] == 0 {
			delete(k.working, a.key())
		}
	}
	close(k.changed)
	k.changed = make(chan struct{})
}

// Of tells who what they may have and have.
func (k *Keeper) Of(ctx context.Context, who Who) ([]api.Budget, error) {
	out := []api.Budget{}
	for _, a := range k.rules.Load().of(who) {
		have, err := k.ledger.Usage(ctx, a.uid, a.gid)
		if err != nil {
			return nil, err
		}
		out = append(out, api.Budget{UID: a.uid, GID: a.gid, MaxBytes: a.MaxBytes, MaxInodes: a.MaxInodes, Prepares: a.Prepares, Channels: a.Channels, Usage: have})
	}
	return out, nil
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}
