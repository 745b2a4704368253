package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/api"
)

// Asked notes who asked for what.
func (c *Catalog) Asked(ctx context.Context, a api.Asked) error {
	at, err := time.Parse(time.RFC3339, a.At)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return c.index.Asked(ctx, index.Request{
		At: at, UID: a.UID, GID: a.GID, Lock: a.Lock, Environments: a.Environments, Seconds: a.Seconds,
		PackagesNew: a.PackagesNew, Bytes: a.Bytes, Outcome: a.Outcome,
	})
}

// Requests returns what was asked for, the latest first; of one user unless uid is nil.
func (c *Catalog) Requests(ctx context.Context, uid *int, lock string, limit int) ([]api.Asked, error) {
	rows, err := c.index.Requests(ctx, index.RequestQuery{UID: uid, Lock: lock, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]api.Asked, 0, len(rows))
	for _, r := range rows {
		out = append(out, api.Asked{
			At: r.At.Format(time.RFC3339), UID: r.UID, GID: r.GID, Lock: r.Lock, Environments: r.Environments, Seconds: r.Seconds,
			PackagesNew: r.PackagesNew, Bytes: r.Bytes, Outcome: r.Outcome,
		})
	}
	return out, nil
}

// RebuildIndex is Rebuild in the API's form.
func (c *Catalog) RebuildIndex(ctx context.Context) (*api.IndexChanges, error) {
	n, err := c.Rebuild(ctx)
	if err != nil {
		return nil, err
	}
	return &api.IndexChanges{Read: n.Read, Gone: n.Gone, Same: n.Same, Broken: n.Broken, Lost: index.Lost}, nil
}

// CheckIndex looks through the whole index; what is wrong with it is an error of class
// index.ErrCorrupt.
func (c *Catalog) CheckIndex(ctx context.Context) (*api.IndexStatus, error) {
	if err := c.index.Check(ctx); err != nil {
		return nil, fmt.Errorf("%w\nnext: restart hpcenvd, which puts it aside and reads a new one from the store", err)
	}
	st, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	return &st, nil
}

// Where returns the environments that have a package, of those that members of groups may
// see; nil = all. An index that was never compared with the store is an error: what it
// does not know would look safe.
func (c *Catalog) Where(ctx context.Context, groups []int, name, version string) ([]api.Containing, error) {
	at, err := c.index.Reconciled(ctx)
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		return nil, api.Errorf(api.ExitLate, "the index was not compared with the store yet\nnext: the same command in a minute; hpcenv admin index check tells when it is done")
	}
	rows, err := c.index.Where(ctx, index.Query{Groups: groups}, name, version)
	if err != nil {
		return nil, err
	}
	out := make([]api.Containing, len(rows))
	for i := range rows {
		if err := json.Unmarshal(rows[i].Summary, &out[i].Environment); err != nil {
			return nil, fmt.Errorf("index %s: what it holds of %s: %w\nnext: hpcenv admin index rebuild", c.index.Path(), rows[i].ID, err)
		}
		out[i].LastUse = rows[i].LastUse.Format(time.RFC3339)
		for _, p := range rows[i].Packages {
			out[i].Found = append(out[i].Found, api.Package{SHA256: p.SHA256, Name: p.Name, Version: p.Version, Build: p.Build})
		}
	}
	return out, nil
}
