package helper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/look"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// DefaultRunDir is where prolog leaves the pins of a node's jobs. It is root's:
// a daemon's own /run/hpcenv is another account's, and goes when the daemon stops.
const DefaultRunDir = launch.RunDir

// prologTimeout bounds what prolog and epilog do with files: a run directory on local
// storage answers at once or not at all, and slurmd waits meanwhile.
const prologTimeout = 5 * time.Second

// prologOrEpilog leaves the job's pin at <run dir>/job/<job id>, or takes it
// away. Steps that carry no pin of their own (srun --overlap --jobid) or
// another component's (heterogeneous jobs) find it there. Before a job with GPUs, where
// the site asks for it, and after a job that found the node unhealthy, its GPUs are
// looked at: an error of class errUnhealthy says that they are not well, and that the
// site wants Slurm to know.
func prologOrEpilog(ctx context.Context, verb string, args []string) error {
	fl := newFlags(verb)
	l := looking{node: nodeName()}
	fl.StringVar(&l.runDir, "run-dir", DefaultRunDir, "")
	fl.StringVar(&l.unhealthy, "unhealthy", onlyReport, "")
	fl.StringVar(&l.node, "node", l.node, "")
	fl.StringVar(&l.scontrol, "scontrol", "", "")
	fl.StringVar(&l.gpu.Program, "gpu-program", "", "")
	fl.StringVar(&l.gpu.Library, "gpu-library", "", "")
	// An administrator writes this command line.
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return refuse(api.ExitUsage, "usage: hpcenv slurm-hook %s [--unhealthy report|drain|fail] [--node NAME] [--scontrol PATH] [--run-dir DIR]", verb)
	}
	if err := l.check(); err != nil {
		return err
	}
	job, wire := os.Getenv("SLURM_JOB_ID"), os.Getenv(pin.PrologVariable)
	if !isJobID(job) {
		return fmt.Errorf("SLURM_JOB_ID is %q; is this called by slurmd?", job)
	}
	asked := false
	err := within(prologTimeout, l.runDir, func() (err error) {
		if verb == "prolog" {
			if err := leavePin(l.runDir, job, wire); err != nil || wire == "" {
				return err
			}
			// Without a place for requests launches only cannot ask for a look.
			return look.Prepare(l.runDir)
		}
		if err = os.Remove(jobPinPath(l.runDir, job)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		var taken error
		asked, taken = look.Take(l.runDir)
		return errors.Join(err, taken)
	})
	if errors.Is(err, errSlow) {
		return err
	}
	if verb == "prolog" {
		return errors.Join(err, l.before(ctx))
	}
	if !asked {
		return err
	}
	return errors.Join(err, l.after(ctx))
}

// errSlow: local storage hangs.
var errSlow = errors.New("did not answer in time")

// within runs what may hang, and goes on without it.
func within(limit time.Duration, what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%s %w (%s)", what, errSlow, limit)
	}
}

func leavePin(runDir, job, wire string) error {
	if wire == "" {
		return nil
	}
	if _, err := pin.Decode(wire); err != nil {
		return err
	}
	path := jobPinPath(runDir, job)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := facts.OwnDirectory(runDir); err != nil {
		return err
	}
	return facts.WriteTrusted(path, []byte(wire))
}

func jobPinPath(runDir, job string) string { return filepath.Join(runDir, "job", job) }

// jobPin returns the pin that the prolog left for a job, nil if there is none.
// Only a file of root's is believed.
func jobPin(runDir, job string) (*pin.Pin, error) {
	if !isJobID(job) || runDir == "" {
		return nil, nil
	}
	path := jobPinPath(runDir, job)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the job's pin: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || st.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("the job's pin %s is not a regular file of root's; next: the administrator removes it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the job's pin: %w", err)
	}
	p, err := pin.Decode(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func isJobID(s string) bool {
	if s == "" || len(s) > 10 {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
