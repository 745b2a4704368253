package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// RecordFile is where a node keeps what is known of its GPUs, below the run
// directory: /run/hpcenv-node/gpu.json.
const RecordFile = "gpu.json"

// RecordVersion is the version of the form of Record as JSON.
const RecordVersion = 1

// ErrNoRecord: there is no record of these GPUs, this driver and this boot that can
// be trusted.
var ErrNoRecord = errors.New("no record of the node's GPUs")

// Record is what a node keeps of its GPUs: what the driver said, when, and the
// verdict on it.
type Record struct {
	Version int `json:"version"`
	// Read is when the driver was asked.
	Read time.Time `json:"read"`
	// Identity of the driver and the devices that were asked.
	Identity Identity `json:"identity"`
	// Report is nil if there was nothing to ask, or no answer.
	Report *Report `json:"report,omitempty"`
	// Failure is why there is no Report; "" = there was nothing to ask.
	Failure string  `json:"failure,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// Age of the record.
func (r *Record) Age(now time.Time) time.Duration { return now.Sub(r.Read) }

// Fresh: it is not older than limit, nor from the future.
func (r *Record) Fresh(now time.Time, limit time.Duration) bool {
	age := r.Age(now)
	return age <= limit && age > -time.Minute
}

// Refresh asks the driver of the node below root, judges the answer and keeps both
// in o.RunDir. A node without GPUs is asked nothing. That there was no answer is in
// the record (Failure, Verdict); an error says that no record could be kept, or that
// another probe is under way (ErrBusy) and the old record stands. With root other
// than "/" the node is a recorded one: o.Program must say who answers for it.
func Refresh(ctx context.Context, root string, o Options) (*Record, error) {
	r, kept := Ask(ctx, root, o)
	if r == nil {
		return nil, kept
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = facts.WriteTrusted(filepath.Join(o.RunDir, RecordFile), append(b, '\n'))
	}
	if err != nil {
		return r, fmt.Errorf("what the GPUs are cannot be kept: %w", err)
	}
	return r, kept
}

// Ask is Refresh for whoever may not keep a record: it asks and judges. With both a
// Record and an error, the Record holds, and o.RunDir could not be written to.
func Ask(ctx context.Context, root string, o Options) (*Record, error) {
	id, err := Identify(root)
	if err != nil {
		return nil, fmt.Errorf("the node's GPUs: %w", err)
	}
	r := &Record{Version: RecordVersion, Identity: id}
	ask := id.Served()
	if !ask {
		if ask, err = onBus(root); err != nil {
			return nil, fmt.Errorf("the node's GPUs: %w", err)
		}
	}
	var kept error
	if ask {
		r.Report, err = Probe(ctx, o)
		switch {
		case errors.Is(err, ErrBusy):
			return nil, err
		case err != nil && r.Report == nil:
			r.Failure = err.Error()
		case err != nil:
			kept = err
		}
		// Asking makes device nodes where there were none.
		if r.Identity, err = Identify(root); err != nil {
			return nil, fmt.Errorf("the node's GPUs: %w", err)
		}
		r.Verdict = Judge(Evidence{Report: r.Report, Failure: r.Failure, Served: r.Identity.GPUs})
	} else {
		r.Verdict = Judge(Evidence{})
	}
	r.Read = time.Now().UTC().Truncate(time.Second)
	return r, kept
}

// Load reads the record at path, whatever its age, if it is of the driver and the
// devices that the node below root has now. It starts nothing, opens no device and
// takes well below a millisecond. The error wraps ErrNoRecord and says why.
func Load(root, path string) (*Record, error) {
	r, err := load(root, path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRecord, err)
	}
	return r, nil
}

func load(root, path string) (*Record, error) {
	b, err := facts.ReadTrusted(path)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != RecordVersion || r.Report != nil && r.Report.Version != ReportVersion {
		return nil, fmt.Errorf("%s is of another version of hpcenv", path)
	}
	now, err := Identify(root)
	if err != nil {
		return nil, err
	}
	if !now.Equal(r.Identity) {
		return nil, fmt.Errorf("%s is of another boot, driver or set of devices", path)
	}
	return r, nil
}
