package api

import (
	"context"
	"net/http"
	"net/url"
)

// Usage is what environments take of the store.
type Usage struct {
	Environments int   `json:"environments"`
	Bytes        int64 `json:"bytes"`
	Inodes       int64 `json:"inodes"`
}

// Budget is what a user, or all with a primary group, may have, and have; zero bounds
// nothing.
type Budget struct {
	// UID of the user, or GID of the group; the other is nil.
	UID       *int     `json:"uid,omitempty"`
	GID       *int     `json:"gid,omitempty"`
	MaxBytes  int64    `json:"max_bytes,omitempty"`
	MaxInodes int64    `json:"max_inodes,omitempty"`
	Prepares  int      `json:"prepares,omitempty"`
	Channels  []string `json:"channels,omitempty"`
	Usage     Usage    `json:"usage"`
}

// Mine is what a user asked for that is there.
type Mine struct {
	// Environments, the latest asked for first.
	Environments []Owned `json:"environments"`
	Usage        Usage   `json:"usage"`
	// Budgets that count for the user; none = nothing is bounded.
	Budgets []Budget `json:"budgets"`
}

// Owned is an environment that a user asked for.
type Owned struct {
	ID       string `json:"id"`
	Platform string `json:"platform"`
	Name     string `json:"name"`
	// Asked is when it was asked for last (RFC 3339).
	Asked  string `json:"asked"`
	Bytes  int64  `json:"bytes"`
	Inodes int64  `json:"inodes"`
}

// Mine returns what the caller asked for that is there, and what they may have.
func (c *Client) Mine(ctx context.Context) (*Mine, error) {
	out := new(Mine)
	return out, c.get(ctx, "/v1/mine", out)
}

// GiveUp tells that the caller needs an environment no more: it does not count for them
// until they ask for it again. id may be the beginning of one.
func (c *Client) GiveUp(ctx context.Context, id string) (*Owned, error) {
	out := new(Owned)
	return out, c.ask(ctx, http.MethodDelete, "/v1/mine/"+url.PathEscape(id), out)
}
