package queries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Error classes.
var (
	// ErrNoSlurm: this host has no Slurm commands.
	ErrNoSlurm = errors.New("no Slurm on this host")
	// ErrSlurm: Slurm is there and did not answer, or not understandably.
	ErrSlurm = errors.New("Slurm cannot be asked")
)

// Timeout bounds one question. slurmctld under load answers late, but a
// question that takes longer is better asked again later.
const Timeout = 20 * time.Second

// Client runs Slurm's commands.
type Client struct {
	// Scontrol is the command to run; "" = scontrol from PATH.
	Scontrol string
	// Search are directories in which scontrol is looked for if PATH does not have it.
	Search []string
}

// scontrol runs scontrol with args and returns what it printed.
func (c Client) scontrol(ctx context.Context, args ...string) ([]byte, error) {
	return c.run(ctx, nil, "scontrol", args...)
}

// find is one of Slurm's commands: those beside the scontrol that is configured, or as
// PATH and Search have them.
func (c Client) find(name string) (string, error) {
	if c.Scontrol != "" {
		if name == "scontrol" {
			name = c.Scontrol
		} else {
			name = filepath.Join(filepath.Dir(c.Scontrol), name)
		}
	}
	path, err := exec.LookPath(name)
	for i := 0; err != nil && c.Scontrol == "" && i < len(c.Search); i++ {
		if found, ferr := exec.LookPath(filepath.Join(c.Search[i], name)); ferr == nil {
			path, err = found, nil
		}
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w: %s is not in PATH", ErrNoSlurm, name)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrSlurm, name, err)
	}
	return path, nil
}

// run runs one of Slurm's commands, with further variables, and returns what it printed.
func (c Client) run(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	path, err := c.find(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A child of scontrol that keeps the pipes open must not hold us.
	cmd.WaitDelay = time.Second
	// One form of output whatever the caller's shell asks for.
	cmd.Env = append(append(withoutPrefixed(os.Environ(), "SCONTROL_", "SQUEUE_", "SACCTMGR_", "SLURM_TIME_FORMAT"), "LC_ALL=C"), env...)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		what := firstLine(stderr.String())
		if what == "" {
			what = firstLine(stdout.String())
		}
		if what == "" {
			what = "it printed nothing"
		}
		return nil, fmt.Errorf("%w: %s %s: %w", ErrSlurm, path, strings.Join(args, " "), &failure{err, what})
	}
	return stdout.Bytes(), nil
}

// failure is a run of scontrol that failed, and the first line of what it said.
type failure struct {
	err  error
	said string
}

func (f *failure) Error() string { return f.err.Error() + ": " + f.said }
func (f *failure) Unwrap() error { return f.err }

// withoutPrefixed returns env without variables whose names start so.
func withoutPrefixed(env []string, prefixes ...string) []string {
	kept := make([]string, 0, len(env)+1)
next:
	for _, e := range env {
		for _, p := range prefixes {
			if strings.HasPrefix(e, p) {
				continue next
			}
		}
		kept = append(kept, e)
	}
	return kept
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return s
}
