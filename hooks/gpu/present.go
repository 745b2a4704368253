package gpu

import (
	"context"
	"fmt"
	"time"
)

// Present reports whether there is something to ask: the kernel's driver for GPUs is
// loaded below root, or a GPU is on the bus that none serves. It reads files only.
func Present(root string) (bool, error) {
	id, err := Identify(root)
	if err != nil || id.Served() {
		return err == nil, err
	}
	return onBus(root)
}

// Hanging tells whether a probe that was started before with this run directory hangs
// in the driver, and cannot be ended: the error then wraps ErrHung and says since when.
// Who only reads the run directory starts none beside it. nil = no such thing is known.
func Hanging(runDir string) error {
	m, err := readMark(runDir)
	if err != nil || m == nil || !m.Hung || !m.alive() {
		return nil // one that cannot be read is its owner's to deal with
	}
	return m.refusal(time.Now())
}

// Ask asks the driver as the caller may, inside a step's limits, judges the answer and
// keeps nothing: GPUs whose device nodes the caller may not open are left out. Errors
// are Probe's.
func Ask(ctx context.Context, root string, o Options) (*Record, error) {
	id, err := Identify(root)
	if err != nil {
		return nil, fmt.Errorf("the node's GPUs: %w", err)
	}
	o.Devices = true
	report, err := Probe(ctx, o)
	if report == nil {
		return nil, err
	}
	r := &Record{Version: RecordVersion, Read: time.Now().UTC(), Identity: id, Report: report}
	r.Verdict = Judge(Evidence{Report: report, Served: id.GPUs})
	return r, nil
}
