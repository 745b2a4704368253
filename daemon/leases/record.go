package leases

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// ErrHandover is the class of errors about what somebody handed over.
var ErrHandover = errors.New("handover is not as it should be")

// Record is one submission, as the store keeps it.
type Record struct {
	Version int    `json:"version"`
	Token   string `json:"token"`
	UID     int    `json:"uid"`
	// At is when it was handed over, by the daemon's clock or the storage's.
	At time.Time `json:"at"`
	// As api.Handover has them.
	IDs     []string `json:"ids"`
	Pin     string   `json:"pin"`
	Context string   `json:"context,omitempty"`
	Host    string   `json:"host,omitempty"`
	Job     string   `json:"job,omitempty"`
	// Seen is when Slurm was first asked after the handover was known; until then it is
	// not bound.
	Seen time.Time `json:"seen,omitzero"`
	// Jobs it is bound to, the likeliest first; Settled: no further ones can be meant.
	Jobs    []int `json:"jobs,omitempty"`
	Settled bool  `json:"settled,omitempty"`
	// Ended and why; zero = it holds.
	Ended time.Time `json:"ended,omitzero"`
	Why   string    `json:"why,omitempty"`
}

// recordVersion of what is written.
const recordVersion = 1

// maxIDs bounds the environments of one submission.
const maxIDs = 64

// newRecord checks what somebody handed over.
func newRecord(h *api.Handover, uid int, at time.Time) (*Record, error) {
	if !hex(h.Token, 32) {
		return nil, fmt.Errorf("%w: token %.40q is not 32 hex digits", ErrHandover, h.Token)
	}
	p, err := pin.Decode(h.Pin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHandover, err)
	}
	if p.Token != h.Token {
		return nil, fmt.Errorf("%w: the pin has another token", ErrHandover)
	}
	if err := checkIDs(h.IDs); err != nil {
		return nil, err
	}
	switch h.Context {
	case "sbatch", "salloc", "srun":
	default:
		return nil, fmt.Errorf("%w: context %.20q", ErrHandover, h.Context)
	}
	if len(h.Host) > 255 || len(h.Job) > 32 || strings.ContainsFunc(h.Host+h.Job, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%w: host %.40q, job %.40q", ErrHandover, h.Host, h.Job)
	}
	r := &Record{Version: recordVersion, Token: h.Token, UID: uid, At: at.UTC(), IDs: h.IDs, Pin: h.Pin, Context: h.Context, Host: h.Host, Job: h.Job}
	if h.Step {
		job, err := strconv.Atoi(h.Job)
		if err != nil || job <= 0 {
			return nil, fmt.Errorf("%w: a step of job %.40q", ErrHandover, h.Job)
		}
		r.Jobs, r.Settled = []int{job}, true // if it is another user's it ends at once: see alive
	}
	return r, nil
}

// checkIDs refuses what are no environments.
func checkIDs(ids []string) error {
	if len(ids) == 0 || len(ids) > maxIDs {
		return fmt.Errorf("%w: %d environments", ErrHandover, len(ids))
	}
	for _, id := range ids {
		if !hex(id, 32) {
			return fmt.Errorf("%w: environment %.40q is not 32 hex digits", ErrHandover, id)
		}
	}
	return nil
}

// hex tells whether s is n lower-case hex digits.
func hex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// encode is the record as it is kept, one line.
func (r *Record) encode() ([]byte, error) {
	data, err := json.Marshal(r)
	return append(data, '\n'), err
}

// decode reads a record and checks it as if a stranger had written it: a daemon of
// another release may have.
func decode(data []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	switch {
	case r.Version < 1 || r.Version > recordVersion:
		return nil, fmt.Errorf("version %d, this hpcenvd reads %d", r.Version, recordVersion)
	case !hex(r.Token, 32):
		return nil, fmt.Errorf("token %.40q", r.Token)
	}
	return r, checkIDs(r.IDs)
}

// Lease is the record in the API's form.
func (r *Record) Lease() api.Lease {
	l := api.Lease{Token: r.Token, Host: r.Host, At: r.At.UTC().Format(time.RFC3339), Context: r.Context, UID: r.UID, IDs: r.IDs, Jobs: r.Jobs, Why: r.Why}
	if !r.Ended.IsZero() {
		l.Ended = r.Ended.UTC().Format(time.RFC3339)
	}
	// A pin of another release tells less; the lease holds nevertheless.
	if p, err := pin.Decode(r.Pin); err == nil {
		l.Lock, l.LockPath, l.Environment = p.Lock, p.LockPath, p.Environment
	}
	return l
}
