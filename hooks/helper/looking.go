package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/health"
	"github.com/hpcenv/hpcenv/hooks/launch"
)

// errUnhealthy: the node's GPUs are not well, and the site wants prolog or epilog to fail
// for it.
var errUnhealthy = errors.New("the node is unhealthy")

// What prolog and epilog do about an unhealthy node (--unhealthy).
const (
	onlyReport = "report" // say it in slurmd's log
	drainNode  = "drain"  // drain it, as the health check does with --drain
	failHook   = "fail"   // exit 1, so that Slurm requeues the job (prolog) and drains the node
)

// lookLimit bounds the driver when prolog and epilog ask it: the scripts that start them
// have a limit of their own, of 10 seconds.
const lookLimit = 6 * time.Second

// Age of what is kept that is new enough: before a job, as for launches; after one that
// asked for a look, only what no job can have been the cause of asking for again.
const (
	newBefore = 15 * time.Minute
	newAfter  = 10 * time.Second
)

// looking is what prolog and epilog look at the GPUs with.
type looking struct {
	node, runDir        string
	unhealthy, scontrol string
	gpu                 gpu.Options
}

func (l *looking) check() error {
	switch l.unhealthy {
	case onlyReport, drainNode, failHook:
		return nil
	}
	return refuse(api.ExitUsage, "--unhealthy=%s is none of %s, %s, %s", l.unhealthy, onlyReport, drainNode, failHook)
}

// before a job: nothing is asked unless the site has something done about what is found,
// and of the GPUs only those that the job gets are looked at.
func (l *looking) before(ctx context.Context) error {
	if l.unhealthy == onlyReport || os.Getenv("SLURM_JOB_GPUS") == "" {
		return nil
	}
	r, err := l.record(ctx, newBefore)
	if err != nil {
		return err
	}
	return l.act(ctx, health.StateOf(launch.OfJob(r, os.LookupEnv)))
}

// after a job that asked for a look: root asks the driver, and goes by what it says.
func (l *looking) after(ctx context.Context) error {
	r, err := l.record(ctx, newAfter)
	if err != nil {
		return err
	}
	return l.act(ctx, health.StateOf(r))
}

func (l *looking) record(ctx context.Context, age time.Duration) (*gpu.Record, error) {
	if r, err := gpu.Load("/", filepath.Join(l.runDir, gpu.RecordFile)); err == nil && r.Fresh(time.Now(), age) {
		return r, nil
	}
	o := l.gpu
	o.RunDir, o.Limit, o.Reap = l.runDir, lookLimit, time.Second
	return gpu.Refresh(ctx, "/", o)
}

func (l *looking) act(ctx context.Context, s health.State) error {
	if s.Level != gpu.Unhealthy {
		return nil
	}
	switch l.unhealthy {
	case failHook:
		return fmt.Errorf("%w: %s", errUnhealthy, s.Reason)
	case drainNode:
		if err := applyDrain(ctx, l.node, l.runDir, l.scontrol, s, os.Stderr); err != nil {
			return err
		}
	}
	return errors.New(s.Reason)
}
