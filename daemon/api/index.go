package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Asked is one request to prepare something, and what came of it.
type Asked struct {
	// At, RFC 3339.
	At  string `json:"at"`
	UID int    `json:"uid"`
	GID int    `json:"gid"`
	// Lock's digest, and the environments that were named; none = default.
	Lock         string   `json:"lock"`
	Environments []string `json:"environments,omitempty"`
	// Seconds it took; PackagesNew and Bytes were fetched for it (or for others who asked
	// for the same meanwhile).
	Seconds     float64 `json:"seconds"`
	PackagesNew int     `json:"packages_new"`
	Bytes       int64   `json:"bytes"`
	// Outcome is "done", or the first line of the error.
	Outcome string `json:"outcome"`
}

// IndexChanges is what a comparison of the index with the store found.
type IndexChanges struct {
	// Environments that were read, that are gone from the store, that were as known, and
	// that cannot be read.
	Read   int `json:"read"`
	Gone   int `json:"gone"`
	Same   int `json:"same"`
	Broken int `json:"broken"`
	// Lost is what an index cannot get back from the store.
	Lost []string `json:"lost"`
}

// IndexStatus is the state of the daemon's index.
type IndexStatus struct {
	Path string `json:"path"`
	// Reconciled is when it was last compared with the store (RFC 3339); "" = never since
	// it was made: nothing is collected.
	Reconciled string `json:"reconciled,omitempty"`
	// Damaged is where a damaged one was put aside since the daemon started.
	Damaged string `json:"damaged,omitempty"`
	// Broken are environments whose description cannot be read.
	Broken []string `json:"broken,omitempty"`
	// Environments, with the bytes and inodes that they take of the store.
	Environments int   `json:"environments"`
	Bytes        int64 `json:"bytes"`
	Inodes       int64 `json:"inodes"`
}

// Containing is an environment that has a package.
type Containing struct {
	Environment
	// LastUse, RFC 3339, to the second.
	LastUse string `json:"last_use"`
	// Found are the packages that were asked for.
	Found []Package `json:"found"`
}

// RebuildIndex has the daemon read its index from the store again.
func (c *Client) RebuildIndex(ctx context.Context) (*IndexChanges, error) {
	out := new(IndexChanges)
	return out, c.ask(ctx, http.MethodPost, "/v1/index/rebuild", out)
}

// CheckIndex has the daemon look through its index.
func (c *Client) CheckIndex(ctx context.Context) (*IndexStatus, error) {
	out := new(IndexStatus)
	return out, c.get(ctx, "/v1/index", out)
}

// Requests returns who asked for what, the latest first; of one user unless uid is nil,
// of one lock unless its digest is "".
func (c *Client) Requests(ctx context.Context, uid *int, lock string, limit int) ([]Asked, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if uid != nil {
		q.Set("uid", strconv.Itoa(*uid))
	}
	if lock != "" {
		q.Set("lock", lock)
	}
	var out []Asked
	return out, c.get(ctx, "/v1/requests?"+q.Encode(), &out)
}

// Where returns the environments that have a package; version "" = any.
func (c *Client) Where(ctx context.Context, name, version string) ([]Containing, error) {
	var out []Containing
	return out, c.get(ctx, "/v1/where/"+url.PathEscape(name)+"?"+url.Values{"version": {version}}.Encode(), &out)
}
