package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
)

// Surveyor reads the store; service.Service does.
type Surveyor interface {
	Survey(ctx context.Context, known func(id, platform string, group *int) string, visit func(id, platform string, group *int, e *service.Entry) error, broken func(id, platform string, err error)) error
	Entry(part *cache.Store, id, platform string) (*service.Entry, error)
}

// Catalog of a daemon's store.
type Catalog struct {
	index *index.Index
	store Surveyor
	log   *slog.Logger
	// comparing lets one comparison with the store run at a time.
	comparing sync.Mutex
	mu        sync.Mutex
	status    Status
}

// Status of a catalog.
type Status = api.IndexStatus

// Open opens the index at path. One that is damaged is put aside, with what index.Lost
// names, and a new one is made: it has to be compared with the store (Reconcile).
func Open(ctx context.Context, path string, store Surveyor, log *slog.Logger) (*Catalog, error) {
	c := &Catalog{store: store, log: log}
	c.status.Path = path
	x, err := index.Open(ctx, path)
	if errors.Is(err, index.ErrCorrupt) {
		aside, aerr := index.Aside(path, time.Now())
		if aerr != nil {
			return nil, errors.Join(err, aerr)
		}
		log.Error("the index is damaged; a new one is read from the store", "aside", aside, "lost", index.Lost, "err", err)
		c.status.Damaged = aside
		x, err = index.Open(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	c.index = x
	return c, nil
}

// Close ends the use of the index.
func (c *Catalog) Close() error { return c.index.Close() }

// Index behind the catalog.
func (c *Catalog) Index() *index.Index { return c.index }

// groupOf is an API's group as the index has it.
func groupOf(group *int) int {
	if group == nil {
		return index.Everybody
	}
	return *group
}

// Changes that a comparison with the store made.
type Changes struct {
	// Read anew or for the first time, Gone from the store, Same as they were, Broken.
	Read, Gone, Same, Broken int
}

// batch is how many environments are written in one transaction.
const batch = 200

// Reconcile compares the index with the store and makes it what the store is. What is
// published or removed meanwhile is seen by the next comparison, or told by Published and
// Removed.
func (c *Catalog) Reconcile(ctx context.Context) (Changes, error) {
	c.comparing.Lock()
	defer c.comparing.Unlock()
	start := time.Now()
	have, err := c.index.Environments(ctx, index.Query{})
	if err != nil {
		return Changes{}, err
	}
	stamps := make(map[index.Key]string, len(have))
	for i := range have {
		stamps[have[i].Key()] = have[i].Described
	}
	gone := make(map[index.Key]bool, len(have))
	for k := range stamps {
		gone[k] = true
	}
	var n Changes
	var broken []string
	var wait []index.Environment
	flush := func() error {
		err := c.index.Put(ctx, wait...)
		wait = wait[:0]
		return err
	}
	err = c.store.Survey(ctx, func(id, platform string, group *int) string {
		return stamps[index.Key{ID: id, Platform: platform, Group: groupOf(group)}]
	}, func(id, platform string, group *int, e *service.Entry) error {
		delete(gone, index.Key{ID: id, Platform: platform, Group: groupOf(group)})
		if e == nil {
			n.Same++
			return nil
		}
		n.Read++
		row, err := row(e, start)
		if err != nil {
			return err
		}
		if wait = append(wait, *row); len(wait) < batch {
			return nil
		}
		return flush()
	}, func(id, platform string, err error) {
		// It is not known what it is; that it is there keeps what was known of it.
		for k := range gone {
			if k.ID == id && k.Platform == platform {
				delete(gone, k)
			}
		}
		n.Broken++
		broken = append(broken, fmt.Sprintf("%s for %s: %v", id, platform, err))
		c.log.Warn("an environment cannot be read", "id", id, "platform", platform, "err", err)
	})
	if err != nil {
		return n, err
	}
	if err := flush(); err != nil {
		return n, err
	}
	keys := make([]index.Key, 0, len(gone))
	for k := range gone {
		keys = append(keys, k)
	}
	n.Gone = len(keys)
	if err := c.index.Remove(ctx, keys...); err != nil {
		return n, err
	}
	c.mu.Lock()
	c.status.Broken = broken
	c.mu.Unlock()
	return n, c.index.SetReconciled(ctx, start)
}

// Rebuild makes the index from the store alone: what it knew is forgotten but for history
// and last use of what is still there.
func (c *Catalog) Rebuild(ctx context.Context) (Changes, error) {
	if err := c.index.SetReconciled(ctx, time.Time{}); err != nil {
		return Changes{}, err
	}
	if err := c.index.Distrust(ctx); err != nil {
		return Changes{}, err
	}
	return c.Reconcile(ctx)
}

// row is an entry as the index has it; one that it did not know counts as used at a time.
func row(e *service.Entry, used time.Time) (*index.Environment, error) {
	created, err := time.Parse(time.RFC3339, e.Created)
	if err != nil {
		created = used // of one whose time cannot be told it is when it was seen first
	}
	summary, err := json.Marshal(&e.Environment)
	if err != nil {
		return nil, err
	}
	out := &index.Environment{
		ID: e.ID, Platform: e.Platform, Group: groupOf(e.Group), Name: e.Name, LockDigest: e.LockDigest, Created: created, LastUse: used,
		Bytes: e.StoreBytes, Inodes: e.StoreInodes, Described: e.Stamp, Summary: summary,
	}
	for _, d := range e.Deliveries {
		out.Tree, out.Image = out.Tree || d == "tree", out.Image || d == "image"
	}
	for _, p := range e.PackageList {
		out.Packages = append(out.Packages, index.Package{SHA256: p.SHA256, Name: p.Name, Version: p.Version, Build: p.Build})
	}
	return out, nil
}

// Published takes in environments that were just made or found, in a part of the store.
func (c *Catalog) Published(ctx context.Context, part *cache.Store, envs []api.Environment) error {
	now := time.Now()
	var rows []index.Environment
	for i := range envs {
		e, err := c.store.Entry(part, envs[i].ID, envs[i].Platform)
		if errors.Is(err, cache.ErrNotFound) {
			continue // a dry run, or removed meanwhile
		}
		if err != nil {
			return err
		}
		r, err := row(e, now)
		if err != nil {
			return err
		}
		rows = append(rows, *r)
	}
	return c.index.Put(ctx, rows...)
}

// List returns the environments that members of groups may see, the newest first;
// ready is false until the index was compared with the store, which knows better.
func (c *Catalog) List(ctx context.Context, groups []int) (_ []api.Environment, ready bool, err error) {
	at, err := c.index.Reconciled(ctx)
	if err != nil || at.IsZero() {
		return nil, false, err
	}
	if groups == nil {
		groups = []int{}
	}
	rows, err := c.index.Environments(ctx, index.Query{Groups: groups})
	if err != nil {
		return nil, true, err
	}
	out := make([]api.Environment, len(rows))
	for i := range rows {
		if err := json.Unmarshal(rows[i].Summary, &out[i]); err != nil {
			return nil, true, fmt.Errorf("index %s: what it holds of %s: %w\nnext: hpcenv admin index rebuild", c.index.Path(), rows[i].ID, err)
		}
	}
	return out, true, nil
}

// Status of the catalog.
func (c *Catalog) Status(ctx context.Context) (Status, error) {
	c.mu.Lock()
	st := c.status
	c.mu.Unlock()
	at, err := c.index.Reconciled(ctx)
	if err != nil {
		return st, err
	}
	if !at.IsZero() {
		st.Reconciled = at.Format(time.RFC3339)
	}
	sum, err := c.index.Totals(ctx, index.Query{})
	st.Environments, st.Bytes, st.Inodes = sum.Environments, sum.Bytes, sum.Inodes
	return st, err
}
