package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// DefaultRunDir is where prolog leaves the pins of a node's jobs. It is root's:
// a daemon's own /run/hpcenv is another account's, and goes when the daemon stops.
const DefaultRunDir = launch.RunDir

// prologTimeout bounds prolog and epilog: a run directory on local storage
// answers at once or not at all, and slurmd waits meanwhile.
const prologTimeout = 5 * time.Second

// prologOrEpilog leaves the job's pin at <run dir>/job/<job id>, or takes it
// away. Steps that carry no pin of their own (srun --overlap --jobid) or
// another component's (heterogeneous jobs) find it there.
func prologOrEpilog(verb string, args []string) error {
	fl := newFlags(verb)
	runDir := fl.String("run-dir", DefaultRunDir, "")
	if err := parse(fl, args); err != nil {
		return err
	}
	job, wire := os.Getenv("SLURM_JOB_ID"), os.Getenv(pin.PrologVariable)
	if !isJobID(job) {
		return fmt.Errorf("SLURM_JOB_ID is %q; is this called by slurmd?", job)
	}
	done := make(chan error, 1)
	go func() {
		if verb == "prolog" {
			done <- leavePin(*runDir, job, wire)
		} else {
			err := os.Remove(jobPinPath(*runDir, job))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			done <- err
		}
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(prologTimeout):
		return fmt.Errorf("%s did not answer within %s", *runDir, prologTimeout)
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
