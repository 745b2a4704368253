package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Defaults of Options. A driver that has powered down needs seconds to wake eight
// GPUs; slurmd gives a health check 60, of which this is a part.
const (
	DefaultLimit = 15 * time.Second
	DefaultReap  = 2 * time.Second
)

// Why there is no Report; each error of Probe wraps one of these or ErrProgram.
var (
	// ErrBusy: another probe is under way on this node.
	ErrBusy = errors.New("another GPU probe is under way")
	// ErrHung: a probe hangs in the driver, and not even SIGKILL ends it.
	ErrHung = errors.New("the GPU driver hangs")
	// ErrTimeout: no answer in time; the child was killed.
	ErrTimeout = errors.New("the GPU driver does not answer")
	// ErrCrash: the child ended without an answer.
	ErrCrash = errors.New("the GPU probe failed")
	// ErrAnswer: what the child printed is no report.
	ErrAnswer = errors.New("the GPU probe's answer cannot be used")
)

// Options of a Probe.
type Options struct {
	// Program is the child's path; "" = Find.
	Program string
	// Library is the driver's library, for the child's --library; "" = where the
	// loader finds it.
	Library string
	// Devices leaves out the GPUs whose device nodes this process may not open.
	Devices bool
	// Limit is how long the child may take; 0 = DefaultLimit.
	Limit time.Duration
	// Reap is how long after SIGKILL its end is waited for; 0 = DefaultReap.
	Reap time.Duration
	// RunDir has the mark that no second child is started beside one that hangs;
	// it must be the caller's alone to write to. "" = no mark is kept.
	RunDir string

	// kill sends SIGKILL to a process group; nil = it does. Tests put what the
	// kernel does with a process in uninterruptible sleep: nothing.
	kill func(pid int) error
}

// Probe asks the GPUs' driver in a child program and returns what it said. It
// returns within Limit + Reap, or soon after the context is done, also when the
// driver hangs in a way that nothing ends: the child is then left behind, and as
// long as it exists no other is started (with RunDir). The child's environment is
// empty. A Report whose State is not StateOK is no error: that is what was found.
// With both a Report and an error, the Report holds, and RunDir could not be
// written to.
func Probe(ctx context.Context, o Options) (*Report, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Reap <= 0 {
		o.Reap = DefaultReap
	}
	if o.kill == nil {
		o.kill = killGroup
	}
	if o.Program == "" {
		program, err := Find()
		if err != nil {
			return nil, err
		}
		o.Program = program
	}
	if err := startable(o.Program); err != nil {
		return nil, err
	}
	c, err := begin(o)
	if err != nil {
		return nil, err
	}
	r, err := c.finish(ctx, o)
	if errors.Is(err, ErrHung) {
		return nil, errors.Join(err, c.note(o))
	}
	if unmarked := c.unmark(o); unmarked != nil && err == nil {
		// What was read is right; the mark of what has ended forbids nothing.
		return r, fmt.Errorf("the mark of the GPU probe: %w", unmarked)
	}
	return r, err
}

// begin starts the child unless another one is there, and marks that it is.
func begin(o Options) (*child, error) {
	if o.RunDir == "" {
		return start(o)
	}
	lock, err := lockDir(o.RunDir)
	if err != nil {
		return nil, err
	}
	c, err := beginLocked(o)
	return c, errors.Join(err, lock.Close())
}

func beginLocked(o Options) (*child, error) {
	m, err := readMark(o.RunDir)
	if err != nil {
		return nil, err
	}
	if m != nil && m.alive() {
		return nil, m.refusal(time.Now())
	}
	c, err := start(o)
	if err != nil {
		return nil, err
	}
	if err := c.note(o); err != nil {
		// Unmarked it must not go on: a second one could be started beside it.
		return nil, errors.Join(fmt.Errorf("%w: it cannot be marked: %w", ErrProgram, err), c.stop(o))
	}
	return c, nil
}
