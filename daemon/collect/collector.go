package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/leases"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// ErrNotNow is the class of errors that say why nothing may be collected now.
var ErrNotNow = errors.New("nothing is collected")

// Leases say what is held; leases.Keeper does.
type Leases interface {
	Held(ctx context.Context) (*leases.Held, error)
	TakeInbox(ctx context.Context) error
	HeldAsKnown() (*leases.Held, error)
}

// Options of a Collector.
type Options struct {
	Store  *cache.Store
	Index  *index.Index
	Leases Leases
	// Policy of the site.
	Policy Policy
	// Grace is how long what was removed can be brought back.
	Grace time.Duration
	Log   *slog.Logger
	// Alone calls do while no prepare runs, if that comes to pass within a while
	// (service.Service.Alone); nil = the pool is not swept.
	Alone func(ctx context.Context, patience time.Duration, do func() error) error
	// Now; nil = time.Now.
	Now func() time.Time
}

// Collector of one store.
type Collector struct {
	opts Options
	// running lets one collection run at a time; moving, one removal or restoration.
	running, moving sync.Mutex

	mu     sync.Mutex
	status Status
	policy Policy
	grace  time.Duration
	// trash is what can be brought back, by environment.
	trash map[index.Key]*cache.Trashed
}

// Status of collection.
type Status = api.GCStatus

// New returns a Collector, once it has finished what a kill interrupted: before the store
// is used.
func New(opts Options) (*Collector, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Collector{opts: opts, policy: opts.Policy, grace: opts.Grace, trash: map[index.Key]*cache.Trashed{}}
	stores, err := c.stores()
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		n, err := s.MendTrash()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			opts.Log.Info("removals that were interrupted are finished", "store", s.Root(), "environments", n)
		}
		if err := c.learn(s); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// SetPolicy changes what collections from now on go by.
func (c *Collector) SetPolicy(p Policy, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policy, c.grace = p, grace
}

// stores are the store and its parts.
func (c *Collector) stores() ([]*cache.Store, error) {
	parts, err := c.opts.Store.Parts()
	return append([]*cache.Store{c.opts.Store}, parts...), err
}

// groupOf a store, as the index has it.
func groupOf(s *cache.Store) int {
	if gid, ok := s.Group(); ok {
		return gid
	}
	return index.Everybody
}

// learn notes what a store's trash/ holds; of several of one environment the latest.
func (c *Collector) learn(s *cache.Store) error {
	all, err := s.Trash()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range slices.Backward(all) {
		c.trash[index.Key{ID: t.ID, Platform: t.Platform, Group: groupOf(s)}] = t
	}
	return nil
}

// Plan says what a collection would do now. Errors are of class ErrNotNow where it is
// not known what is needed or what is there.
func (c *Collector) Plan(ctx context.Context) (*Plan, error) {
	at, err := c.opts.Index.Reconciled(ctx)
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		return nil, fmt.Errorf("%w: the index was not compared with the store yet; next: hpcenv admin index check tells when it is", ErrNotNow)
	}
	held, err := c.opts.Leases.Held(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotNow, err)
	}
	envs, err := c.opts.Index.Environments(ctx, index.Query{})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	policy := c.policy
	c.mu.Unlock()
	return NewPlan(envs, held, policy, c.opts.Now()), nil
}

// Result is what a collection did.
type Result struct {
	Removed []Item
	// Spared were planned and are needed by now, with why.
	Spared        []Kept
	Bytes, Inodes int64
	// Purged is how many removals of earlier collections became final.
	Purged int
}

// Run executes a plan. Before each removal it looks whether the environment is needed or
// was used since. It ends with the first error; what was removed by then is in the result.
func (c *Collector) Run(ctx context.Context, plan *Plan) (r *Result, err error) {
	c.running.Lock()
	defer c.running.Unlock()
	r = &Result{}
	defer func() { c.note(plan, r, err) }()
	stores, err := c.stores()
	if err != nil {
		return r, err
	}
	of := map[int]*cache.Store{}
	for _, s := range stores {
		of[groupOf(s)] = s
	}
	for _, item := range plan.Items {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		s := of[item.Group]
		if s == nil {
			continue // the part is gone
		}
		why, err := c.needed(ctx, &item)
		if err != nil {
			return r, err
		}
		if why != "" {
			r.Spared = append(r.Spared, Kept{Key: item.Key, Name: item.Name, Bytes: item.Bytes, Inodes: item.Inodes, LastUse: item.LastUse, Why: why})
			continue
		}
		if err := c.remove(ctx, s, &item); err != nil {
			return r, err
		}
		r.Removed = append(r.Removed, item)
		r.Bytes += item.Bytes
		r.Inodes += item.Inodes
		c.opts.Log.Info("environment removed", "id", item.ID, "platform", item.Platform, "lock", item.LockDigest, "bytes", item.Bytes, "why", item.Why)
	}
	c.mu.Lock()
	grace := c.grace
	c.mu.Unlock()
	for _, s := range stores {
		n, err := s.Purge(c.opts.Now().Add(-grace))
		r.Purged += n
		if err != nil {
			return r, err
		}
	}
	return r, c.forgetPurged(stores)
}

// needed says why an environment that was planned to go is needed now; "" = it is not.
func (c *Collector) needed(ctx context.Context, item *Item) (string, error) {
	if err := c.opts.Leases.TakeInbox(ctx); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotNow, err)
	}
	held, err := c.opts.Leases.HeldAsKnown()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotNow, err)
	}
	if reasons := held.IDs[item.ID]; len(reasons) > 0 {
		return reasons[0].Text, nil
	}
	now, err := c.opts.Index.Environments(ctx, index.Query{ID: item.ID})
	if err != nil {
		return "", err
	}
	for i := range now {
		if now[i].Key() == item.Key && now[i].LastUse.After(item.LastUse) {
			return "used meanwhile", nil
		}
	}
	return "", nil
}

// files of an environment below its store, in the order in which they go: that by which
// readers find it first. What the site built for it goes with it.
func files(s *cache.Store, id, platform string) ([]string, error) {
	below := func(path string) (string, error) { return filepath.Rel(s.Root(), path) }
	paths := []string{s.ImagePath(platform, id), s.TreePath(platform, id)}
	record, err := sitebuild.Read(s.Root(), id, platform)
	if err != nil {
		return nil, err
	}
	for _, b := range record.Builds {
		if b.Overlay != "" {
			paths = append(paths, s.ImagePath(platform, b.Overlay), s.TreePath(platform, b.Overlay), sitebuild.MetaPath(s.Root(), b.Overlay, platform))
		}
	}
	paths = append(paths, sitebuild.RecordPath(s.Root(), id, platform), s.NeedsPath(id, platform), s.MetaPath(id, platform))
	out := make([]string, len(paths))
	for i, path := range paths {
		if out[i], err = below(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *Collector) remove(ctx context.Context, s *cache.Store, item *Item) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	paths, err := files(s, item.ID, item.Platform)
	if err != nil {
		return err
	}
	t, err := s.Discard(item.ID, item.Platform, item.Why, c.opts.Now(), paths)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.trash[item.Key] = t
	c.mu.Unlock()
	return c.opts.Index.Remove(ctx, item.Key)
}

// Restore brings back an environment of a store that was removed and not purged yet;
// false = there is none. The index learns of it when it is asked for (Catalog.Published).
func (c *Collector) Restore(s *cache.Store, id, platform string) (bool, error) {
	key := index.Key{ID: id, Platform: platform, Group: groupOf(s)}
	c.mu.Lock()
	t := c.trash[key]
	c.mu.Unlock()
	if t == nil {
		return false, nil
	}
	c.moving.Lock()
	defer c.moving.Unlock()
	if err := s.Restore(t); err != nil {
		return false, err
	}
	c.mu.Lock()
	delete(c.trash, key)
	c.status.Restored++
	c.mu.Unlock()
	c.opts.Log.Info("environment brought back", "id", id, "platform", platform)
	return true, nil
}

// forgetPurged forgets what can no more be brought back.
func (c *Collector) forgetPurged(stores []*cache.Store) error {
	c.mu.Lock()
	c.trash = map[index.Key]*cache.Trashed{}
	c.mu.Unlock()
	for _, s := range stores {
		if err := c.learn(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collector) note(plan *Plan, r *Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Last = c.opts.Now().UTC().Format(time.RFC3339)
	c.status.Removed, c.status.Bytes, c.status.Inodes, c.status.Over = len(r.Removed), r.Bytes, r.Inodes, plan.Over
	c.status.Problem = ""
	if err != nil {
		c.status.Problem = err.Error()
	}
}

// Collect plans and executes. What may not be collected now is a problem of the status,
// and an error of class ErrNotNow.
func (c *Collector) Collect(ctx context.Context) (*Result, error) {
	plan, err := c.Plan(ctx)
	if err != nil {
		c.mu.Lock()
		c.status.Problem = err.Error()
		c.mu.Unlock()
		return nil, err
	}
	return c.Run(ctx, plan)
}

// Status of collection.
func (c *Collector) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.status
	st.Trash, st.MaxBytes, st.MaxInodes = len(c.trash), c.policy.MaxBytes, c.policy.MaxInodes
	return st
}
