package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// What a Handover is about.
const (
	// HandoverSubmit: a submission carries the environments.
	HandoverSubmit = "submit"
	// HandoverUse: they were started without a submission.
	HandoverUse = "use"
)

// Handover is what a submission tells the daemon, over the socket or, where that does not
// answer at once, in a file of the store's inbox/: what its job will need.
type Handover struct {
	// Kind is one of the Handover constants.
	Kind string `json:"kind"`
	// Token is the pin's, 32 hex digits; it binds the lease to the user's job.
	Token string `json:"token,omitempty"`
	// IDs of the environments.
	IDs []string `json:"ids"`
	// Pin as it travels (pin.Pin.Encode), Context sbatch, salloc or srun, Host where it
	// was submitted, Job the number of the job that it was submitted from (of an array the
	// array's; "" = none).
	Pin     string `json:"pin,omitempty"`
	Context string `json:"context,omitempty"`
	Host    string `json:"host,omitempty"`
	Job     string `json:"job,omitempty"`
	// Step: it is a step of Job, not a job of its own.
	Step bool `json:"step,omitempty"`
}

// MaxHandover bounds one in bytes, as JSON; a pin has up to 4 kB.
const MaxHandover = 16 << 10

// Lease is what keeps environments from being collected.
type Lease struct {
	// Token of the submission.
	Token string `json:"token"`
	// Host and At (RFC 3339): where and when it was submitted; Context sbatch, salloc or
	// srun.
	Host    string `json:"host,omitempty"`
	At      string `json:"at"`
	Context string `json:"context,omitempty"`
	UID     int    `json:"uid"`
	// Lock's digest and path, Environment by name, IDs of all environments that nodes of
	// the job may get.
	Lock        string   `json:"lock"`
	LockPath    string   `json:"lock_path"`
	Environment string   `json:"environment"`
	IDs         []string `json:"ids"`
	// Jobs are the numbers of the user's jobs that may be the submission's, the likeliest
	// first; none = it was not seen yet.
	Jobs []int `json:"jobs,omitempty"`
	// Ended (RFC 3339): slurmctld has forgotten its jobs, or none came of it, or it was
	// released; "" = it holds.
	Ended string `json:"ended,omitempty"`
	// Why it ended.
	Why string `json:"why,omitempty"`
}

// HandOver tells the daemon what a submission needs; the lease is durable when it
// returns.
func (c *Client) HandOver(ctx context.Context, h *Handover) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the handover: %w", err)
	}
	resp, err := c.do(ctx, http.MethodPost, "/v1/leases", bytes.NewReader(body), int64(len(body)), "")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Leases returns the caller's leases, those that hold first; all users' if everybody is
// set, which is for the support group. ended: also those that ended.
func (c *Client) Leases(ctx context.Context, everybody, ended bool) ([]Lease, error) {
	q := url.Values{}
	if everybody {
		q.Set("everybody", "yes")
	}
	if ended {
		q.Set("ended", "yes")
	}
	var out []Lease
	return out, c.get(ctx, "/v1/leases?"+q.Encode(), &out)
}

// Release ends a lease of the caller's (an administrator: anybody's): its environments
// may be collected, though its jobs live.
func (c *Client) Release(ctx context.Context, token string) error {
	return c.ask(ctx, http.MethodDelete, "/v1/leases/"+url.PathEscape(token), &struct{}{})
}

// Job is what a job was submitted with.
type Job struct {
	ID int `json:"id"`
	// Lease of its submission. Where the user submitted several jobs at nearly the same
	// time, it is the likeliest.
	Lease Lease `json:"lease"`
	// Pin as it travelled (pin.Pin.Encode).
	Pin string `json:"pin"`
	// Gets is what the plan has for the kinds of node that the job could land on.
	Gets []JobGets `json:"gets,omitempty"`
	// Sources are the user's own projects that the environment uses from their trees, as
	// they were when the job was submitted.
	Sources []JobSource `json:"sources,omitempty"`
	// Snapshot is the digest of what was known of the cluster's nodes.
	Snapshot string `json:"snapshot,omitempty"`
}

// JobGets is what nodes of a platform get.
type JobGets struct {
	Environment string `json:"environment"`
	Platform    string `json:"platform"`
	ID          string `json:"id"`
}

// JobSource is a project that is used from its source tree.
type JobSource struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

// PutName asks to keep what a lock has under a name.
type PutName struct {
	// Lock's digest; the store must have it. LockPath is for messages.
	Lock     string `json:"lock"`
	LockPath string `json:"lock_path"`
	// Environments by name; empty = all of the lock that are prepared.
	Environments []string `json:"environments,omitempty"`
	// Activations are the digests of the manifest's part, by environment.
	Activations map[string]string `json:"activations,omitempty"`
	// Description is the digest of what the lock asks of nodes.
	Description string `json:"description,omitempty"`
	// Wish: the lock names no environments; these are wishes.
	Wish bool `json:"wish,omitempty"`
	// Note for people.
	Note string `json:"note,omitempty"`
}

// Job returns what a job of the caller's (for the support group: anybody's) had.
func (c *Client) Job(ctx context.Context, id int) (*Job, error) {
	out := new(Job)
	return out, c.get(ctx, fmt.Sprintf("/v1/jobs/%d", id), out)
}

// PutName keeps what a lock has under a name.
func (c *Client) PutName(ctx context.Context, name string, n *PutName) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode the name: %w", err)
	}
	resp, err := c.do(ctx, http.MethodPut, "/v1/names/"+escapeName(name), bytes.NewReader(body), int64(len(body)), "")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// DeleteName takes a name away; what it kept may be collected, unless a job needs it.
func (c *Client) DeleteName(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodDelete, "/v1/names/"+escapeName(name), &struct{}{})
}

// escapeName keeps the slashes of a name.
func escapeName(name string) string { return (&url.URL{Path: name}).EscapedPath() }
