package api

import "context"

// States of a watched lock.
const (
	// WatchPrepared: what it names is there.
	WatchPrepared = "prepared"
	// WatchFailed: it is not; Problem says why.
	WatchFailed = "failed"
	// WatchWaiting: it changed a moment ago.
	WatchWaiting = "waiting"
)

// WatchedLock is a lock that the daemon prepares when it changes.
type WatchedLock struct {
	Path string `json:"path"`
	// Lock's digest when it was last prepared or tried; At when (RFC 3339).
	Lock string `json:"lock,omitempty"`
	At   string `json:"at,omitempty"`
	// State is one of the Watch constants.
	State string `json:"state"`
	// Environments that are there, one for each platform.
	Environments int    `json:"environments"`
	Problem      string `json:"problem,omitempty"`
}

// Watched returns what is watched, and what came of it.
func (c *Client) Watched(ctx context.Context) ([]WatchedLock, error) {
	var out []WatchedLock
	return out, c.get(ctx, "/v1/watched", &out)
}
