package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Bounds against a node that comes and goes.
const (
	// settled is in how many checks, one after the other, a node must be well before it
	// takes jobs again.
	settled = 2
	// maxDrains within drainWindow: after more, a node stays drained until an
	// administrator has looked.
	maxDrains   = 3
	drainWindow = 24 * time.Hour
)

// drainedFile says, below the run directory, that this program has drained the node.
const drainedFile = "drained.json"

// reasonPrefix begins every reason that this program gives Slurm.
const reasonPrefix = "hpcenv: "

// Slurm is what a Drainer asks of Slurm (queries.Client).
type Slurm interface {
	Availability(ctx context.Context, node string) (queries.Availability, error)
	Drain(ctx context.Context, node, reason string) error
	Undrain(ctx context.Context, node string) error
}

// Drainer drains a node that is unhealthy and takes that back when it is well. It never
// touches a drain that is not its own: that of an administrator, or one whose reason
// somebody has changed.
type Drainer struct {
	Node   string
	RunDir string
	Slurm  Slurm
	Now    func() time.Time
}

// drained is the mark of what was done, which goes with the boot.
type drained struct {
	// Reason that Slurm was given; "" = the node is not drained by this program.
	Reason string `json:"reason,omitempty"`
	// Times of the last drains.
	Times []time.Time `json:"times,omitempty"`
	// Well counts checks since that found nothing.
	Well int `json:"well,omitempty"`
}

// Apply makes the node's state in Slurm follow what was found, and says what it did; ""
// = nothing. Of a node of which nothing is known it changes nothing.
func (d Drainer) Apply(ctx context.Context, s State) (string, error) {
	m, err := d.read()
	if err != nil {
		return "", err
	}
	switch s.Level {
	case gpu.Unhealthy:
		return d.drain(ctx, m, reasonPrefix+s.Reason)
	case gpu.Unknown:
		if m.Well == 0 {
			return "", nil
		}
		m.Well = 0
		return "", d.keep(m)
	}
	if m.Reason == "" {
		return "", nil
	}
	return d.undrain(ctx, m)
}

func (d Drainer) drain(ctx context.Context, m *drained, reason string) (string, error) {
	is, err := d.Slurm.Availability(ctx, d.Node)
	if err != nil {
		return "", err
	}
	if is.Drained() {
		mine := m.Reason != "" && is.Because(m.Reason)
		if mine && m.Well == 0 || !mine && m.Reason == "" {
			return "", nil
		}
		m.Well = 0
		if !mine {
			m.Reason = "" // it is somebody else's now
		}
		return "", d.keep(m)
	}
	m.Times = append(d.recent(m), d.Now().UTC().Truncate(time.Second))
	m.Reason, m.Well = reason, 0
	// The mark first: a drain without one would stay for ever.
	if err := d.keep(m); err != nil {
		return "", err
	}
	if err := d.Slurm.Drain(ctx, d.Node, reason); err != nil {
		m.Reason, m.Times = "", m.Times[:len(m.Times)-1]
		return "", errors.Join(err, d.keep(m))
	}
	return "drained " + d.Node, nil
}

func (d Drainer) undrain(ctx context.Context, m *drained) (string, error) {
	is, err := d.Slurm.Availability(ctx, d.Node)
	if err != nil {
		return "", err
	}
	if !is.Drained() || !is.Because(m.Reason) {
		m.Reason, m.Well = "", 0
		return fmt.Sprintf("%s was drained by hpcenv and has been seen to by somebody else: left as it is", d.Node), d.keep(m)
	}
	if len(d.recent(m)) > maxDrains {
		return fmt.Sprintf("%s stays drained, as it was drained %d times within %v; next: an administrator looks at it, and scontrol update nodename=%s state=resume", d.Node, len(d.recent(m)), drainWindow, d.Node), nil
	}
	if m.Well++; m.Well < settled {
		return fmt.Sprintf("%s takes jobs again if the next check finds it well, too", d.Node), d.keep(m)
	}
	if err := d.Slurm.Undrain(ctx, d.Node); err != nil {
		return "", err
	}
	m.Reason, m.Well = "", 0
	return d.Node + " takes jobs again", d.keep(m)
}

// recent are the drains that count.
func (d Drainer) recent(m *drained) []time.Time {
	return slices.DeleteFunc(slices.Clone(m.Times), func(t time.Time) bool { return d.Now().Sub(t) > drainWindow })
}

func (d Drainer) path() string { return filepath.Join(d.RunDir, drainedFile) }

// read the mark. One that cannot be read is an error: what would be taken back is not
// known.
func (d Drainer) read() (*drained, error) {
	b, err := facts.ReadTrusted(d.path())
	if errors.Is(err, fs.ErrNotExist) {
		return new(drained), nil
	}
	m := new(drained)
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return nil, fmt.Errorf("what was drained is not known: %s: %w; next: remove it, and see in sinfo -R whether the node is to take jobs", d.path(), err)
	}
	return m, nil
}

func (d Drainer) keep(m *drained) error {
	b, err := json.Marshal(m)
	if err == nil {
		err = facts.WriteTrusted(d.path(), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("that the node is drained cannot be kept: %w", err)
	}
	return nil
}
