package api

import (
	"context"
	"net/http"
)

// GC is a collection, planned or done.
type GC struct {
	// Remove are environments that go (or went), in this order; Keep those that stay, each
	// with why.
	Remove []GCItem `json:"remove"`
	Keep   []GCItem `json:"keep"`
	// Done: it was executed. Spared were planned to go and were needed by then.
	Done   bool     `json:"done"`
	Spared []GCItem `json:"spared,omitempty"`
	// Bytes and Inodes of all environments before, and of those that stay.
	Bytes      int64 `json:"bytes"`
	Inodes     int64 `json:"inodes"`
	BytesLeft  int64 `json:"bytes_left"`
	InodesLeft int64 `json:"inodes_left"`
	// Over says that what is needed exceeds the budget; "" = it does not.
	Over string `json:"over,omitempty"`
	// Purged is how many earlier removals became final.
	Purged int `json:"purged,omitempty"`
	// Swept are packages that no environment has, and files of the pool that only they had.
	SweptPackages int   `json:"swept_packages,omitempty"`
	SweptFiles    int   `json:"swept_files,omitempty"`
	SweptBytes    int64 `json:"swept_bytes,omitempty"`
}

// GCItem is an environment of a platform, in a collection.
type GCItem struct {
	ID       string `json:"id"`
	Platform string `json:"platform"`
	Name     string `json:"name"`
	// Group is the only one that may read it; nil = everybody may.
	Group   *int   `json:"group,omitempty"`
	Bytes   int64  `json:"bytes"`
	Inodes  int64  `json:"inodes"`
	LastUse string `json:"last_use"`
	Why     string `json:"why"`
}

// PlanGC says what a collection would do now.
func (c *Client) PlanGC(ctx context.Context) (*GC, error) {
	out := new(GC)
	return out, c.get(ctx, "/v1/gc", out)
}

// RunGC has one run.
func (c *Client) RunGC(ctx context.Context) (*GC, error) {
	out := new(GC)
	return out, c.ask(ctx, http.MethodPost, "/v1/gc", out)
}
