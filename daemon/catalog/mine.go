package catalog

import (
	"context"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/api"
)

// Want notes that a user with a primary group asked for environments.
func (c *Catalog) Want(ctx context.Context, uid, gid int, envs []api.Environment) error {
	keys := make([]index.Key, len(envs))
	for i, e := range envs {
		keys[i] = index.Key{ID: e.ID, Platform: e.Platform}
	}
	return c.index.Want(ctx, uid, gid, time.Now(), keys)
}

// Usage sums up what is there that a user, or anybody with a primary group, asked for; the
// other is nil.
func (c *Catalog) Usage(ctx context.Context, uid, gid *int) (api.Usage, error) {
	n, bytes, inodes, err := c.index.Usage(ctx, uid, gid)
	return api.Usage{Environments: n, Bytes: bytes, Inodes: inodes}, err
}

// Mine returns what is there that a user asked for, without budgets.
func (c *Catalog) Mine(ctx context.Context, uid int) (*api.Mine, error) {
	owned, err := c.index.Owned(ctx, uid)
	if err != nil {
		return nil, err
	}
	out := &api.Mine{Environments: []api.Owned{}, Budgets: []api.Budget{}}
	for _, o := range owned {
		out.Environments = append(out.Environments, api.Owned{ID: o.ID, Platform: o.Platform, Name: o.Name, Asked: o.Asked.Format(time.RFC3339), Bytes: o.Bytes, Inodes: o.Inodes})
	}
	out.Usage, err = c.Usage(ctx, &uid, nil)
	return out, err
}

// GiveUp forgets that a user asked for the one environment whose id begins so.
func (c *Catalog) GiveUp(ctx context.Context, uid int, id string) (*api.Owned, error) {
	mine, err := c.Mine(ctx, uid)
	if err != nil {
		return nil, err
	}
	var found *api.Owned
	for i, o := range mine.Environments {
		switch {
		case id == "" || !strings.HasPrefix(o.ID, id):
		case found != nil && found.ID != o.ID:
			return nil, api.Errorf(api.ExitUsage, "several environments of yours begin with %q\nnext: give more digits", id)
		default:
			found = &mine.Environments[i]
		}
	}
	if found == nil {
		return nil, api.Errorf(api.ExitUsage, "no environment that you asked for has an id that begins with %q\nnext: hpcenv list --mine", id)
	}
	return found, c.index.GiveUp(ctx, uid, found.ID)
}
