package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/health"
	"github.com/hpcenv/hpcenv/hooks/look"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// healthTimeout bounds a health check; slurmd bounds it at 60 seconds itself.
const healthTimeout = 50 * time.Second

// scontrolTimeout bounds what is asked of Slurm in it.
const scontrolTimeout = 15 * time.Second

// healthMain is `hpcenv slurm-hook health`. It prints one line; the exit code is that of
// an environment that does not fit if the node is unhealthy.
func healthMain(ctx context.Context, args []string, stdout io.Writer) error {
	o := health.Options{Node: nodeName(), Stderr: os.Stderr}
	fl := newFlags("health")
	fl.StringVar(&o.Root, "root", "/", "")
	fl.StringVar(&o.RunDir, "run-dir", DefaultRunDir, "")
	fl.StringVar(&o.Conf, "conf", "", "")
	fl.StringVar(&o.Node, "node", o.Node, "")
	fl.StringVar(&o.GPU.Program, "gpu-program", "", "")
	fl.StringVar(&o.GPU.Library, "gpu-library", "", "")
	fl.DurationVar(&o.Jitter, "jitter", 20*time.Second, "")
	drain := fl.Bool("drain", false, "")
	unknown := fl.Bool("unknown-is-unhealthy", false, "")
	scontrol := fl.String("scontrol", "", "")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return refuse(api.ExitUsage, "health: usage: hpcenv slurm-hook health [--drain] [--unknown-is-unhealthy] [--jitter 20s] [--node NAME] [--scontrol PATH] [--conf FILE] [--root DIR] [--run-dir DIR]")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := health.Look(ctx, o)
	if r == nil {
		return err
	}
	// What users have asked for is done.
	_, lookErr := look.Take(o.RunDir)
	err = errors.Join(err, lookErr, look.Prepare(o.RunDir))
	state := r.State()
	if *unknown && state.Level == gpu.Unknown {
		state.Level = gpu.Unhealthy
	}
	fmt.Fprintln(stdout, state)
	if *drain {
		err = errors.Join(err, applyDrain(ctx, o.Node, o.RunDir, *scontrol, state, os.Stderr))
	}
	err = errors.Join(err, health.Tell(ctx, o, r.Facts))
	if state.Level == gpu.Unhealthy {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return &verdict{api.ExitNoFit, nil}
	}
	return err
}

// applyDrain makes the node's state in Slurm follow its health.
func applyDrain(ctx context.Context, node, runDir, scontrol string, s health.State, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, scontrolTimeout)
	defer cancel()
	said, err := health.Drainer{Node: node, RunDir: runDir, Slurm: queries.Client{Scontrol: scontrol, Search: scontrolDirs}, Now: time.Now}.Apply(ctx, s)
	if said != "" {
		fmt.Fprintf(stderr, "hpcenv: %s\n", said)
	}
	if err != nil {
		return fmt.Errorf("the node's state in Slurm was not changed: %w; next: run the command by hand; slurmd's scripts do not have SLURM_CONF, which they must set where slurm.conf is not in its usual place", err)
	}
	return nil
}

// scontrolDirs are where scontrol is looked for beside PATH, which slurmd's programs do
// not always have.
var scontrolDirs = []string{"/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/bin"}
