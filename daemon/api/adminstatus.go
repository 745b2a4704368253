package api

import "context"

// AdminStatus is how a daemon is, for who looks after it.
type AdminStatus struct {
	Version string `json:"version"`
	// Host and PID of the daemon, and since when it runs (RFC 3339).
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Since string `json:"since"`
	// Store and how full its file system is.
	Store      string `json:"store"`
	FreeBytes  int64  `json:"free_bytes"`
	FreeInodes int64  `json:"free_inodes"`
	// Index, Leases and collection.
	Index  IndexStatus `json:"index"`
	Leases LeaseStatus `json:"leases"`
	GC     GCStatus    `json:"gc"`
	// Work that runs or waits.
	Work []WorkStatus `json:"work"`
	// Schedules in the order in which they were set up.
	Schedules []ScheduleStatus `json:"schedules"`
	// Warnings are what an administrator should see to; none = all is well.
	Warnings []string `json:"warnings"`
}

// LeaseStatus of a daemon.
type LeaseStatus struct {
	// Holding leases, and those of them that are bound to a job; Names that keep something.
	Holding int `json:"holding"`
	Bound   int `json:"bound"`
	Names   int `json:"names"`
	// Asked is when Slurm last told of all jobs; Problem why it cannot now.
	Asked   string `json:"asked,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Refused handovers since the daemon started.
	Refused int `json:"refused"`
}

// GCStatus is what collection did.
type GCStatus struct {
	Last    string `json:"last,omitempty"`
	Removed int    `json:"removed"`
	Bytes   int64  `json:"bytes"`
	Inodes  int64  `json:"inodes"`
	Problem string `json:"problem,omitempty"`
	Over    string `json:"over,omitempty"`
	// MaxBytes and MaxInodes are the budget; 0 = none.
	MaxBytes  int64 `json:"max_bytes"`
	MaxInodes int64 `json:"max_inodes"`
	// Trash counts what can be brought back, Restored what was.
	Trash    int `json:"trash"`
	Restored int `json:"restored"`
}

// WorkStatus is one prepare that runs or waits.
type WorkStatus struct {
	UID  int    `json:"uid"`
	Lock string `json:"lock"`
	// Since, RFC 3339; Waiters are the clients that wait for it.
	Since   string `json:"since"`
	Waiters int    `json:"waiters"`
	// Packages and bytes that are there, of all.
	PackagesDone  int   `json:"packages_done"`
	PackagesTotal int   `json:"packages_total"`
	BytesDone     int64 `json:"bytes_done"`
	BytesTotal    int64 `json:"bytes_total"`
}

// ScheduleStatus is how something that happens by the clock went.
type ScheduleStatus struct {
	Name         string  `json:"name"`
	EverySeconds float64 `json:"every_seconds"`
	Running      bool    `json:"running,omitempty"`
	// Last and Next run, and the last that succeeded (RFC 3339; "" = never).
	Last string `json:"last,omitempty"`
	Good string `json:"good,omitempty"`
	Next string `json:"next,omitempty"`
	// Seconds that the last took; Problem of the last, "" = none.
	Seconds  float64 `json:"seconds"`
	Problem  string  `json:"problem,omitempty"`
	Runs     int     `json:"runs"`
	Failures int     `json:"failures"`
}

// AdminStatus asks how the daemon is.
func (c *Client) AdminStatus(ctx context.Context) (*AdminStatus, error) {
	out := new(AdminStatus)
	return out, c.get(ctx, "/v1/admin/status", out)
}

// Ping asks whether the daemon answers, for nothing that takes the store or Slurm.
func (c *Client) Ping(ctx context.Context) error {
	return c.get(ctx, "/v1/instance", &struct{}{})
}
