// Package shortjob runs a command on one node as a job of its own, by srun, and never
// leaves one behind.
//
// Enters: srun's options and a command. Leaves: what the command prints, line by line,
// and how it ended. No file is written and no storage is shared with the node.
package shortjob

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Job to be run.
type Job struct {
	// Name of the job; a number of its own is put behind it.
	Name string
	// Args are options of srun.
	Args []string
	// Command and its arguments.
	Command []string
	// Env is srun's; what of it belongs to a job that the caller is part of is left out.
	Env []string
	// Wait is how long it may take until Started; 0 = as long as the context lasts.
	Wait time.Duration
	// Output reads what the command prints; it calls started when it sees that the
	// command runs. It must read to the end.
	Output func(r io.Reader, started func()) error
}

// Errors of Run.
var (
	// ErrNoSlurm: there is no srun here.
	ErrNoSlurm = errors.New("there is no Slurm here")
	// ErrWaited: the command did not start in time; the job was cancelled.
	ErrWaited = errors.New("the job did not start in time")
)

// EndError is how a command ended that did not end well: srun's exit code, which is
// the command's if there was one, and the last lines that srun said.
type EndError struct {
	Code int
	Said string
}

func (e *EndError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("srun ended with exit code %d", e.Code)
	}
	return fmt.Sprintf("srun ended with exit code %d: %s", e.Code, e.Said)
}

// maxSaid bounds what is kept of srun's messages, in bytes.
const maxSaid = 16 << 10

// Run runs the job and returns when it is over. When the context is done, or the job
// does not start in time, it is cancelled first. Errors: ErrNoSlurm, ErrWaited (with
// Slurm's reason), *EndError, those of Output and of the context.
func Run(ctx context.Context, j Job) error {
	if _, err := exec.LookPath("srun"); err != nil {
		return fmt.Errorf("%w: srun is not in PATH", ErrNoSlurm)
	}
	var token [6]byte
	if _, err := rand.Read(token[:]); err != nil {
		return err
	}
	name := j.Name + "-" + hex.EncodeToString(token[:])
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	var said lastBytes
	cmd := exec.Command("srun", slices.Concat([]string{"--job-name=" + name, "--nodes=1", "--ntasks=1", "--input=none"}, j.Args, []string{"--"}, j.Command)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = OutsideOfJob(j.Env), write, &said
	cmd.WaitDelay = 5 * time.Second
	// A terminal's Ctrl-C is for this program, which then cancels the job; if this
	// program is killed, srun ends the job.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	ended, started, begun := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // whose end is what Pdeathsig looks at
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		close(begun)
		if e := write.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = cmd.Wait()
		}
		ended <- err
	}()
	output := make(chan error, 1)
	go func() {
		once := false
		err := j.Output(read, func() {
			if !once {
				once = true
				close(started)
			}
		})
		output <- errors.Join(err, read.Close())
	}()
	<-begun
	end, stopped := wait(ctx, name, j.Wait, ended, started)
	if stopped != nil {
		if err := cancel(name); err != nil {
			stopped = fmt.Errorf("%w; %w", stopped, err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				stopped = fmt.Errorf("%w; srun: %w", stopped, err)
			}
			<-ended
			// It may have submitted the job after we looked.
			if err := cancel(name); err != nil {
				stopped = fmt.Errorf("%w; %w", stopped, err)
			}
		}
		<-output
		return stopped
	}
	if err := <-output; err != nil {
		return err
	}
	var exit *exec.ExitError
	if errors.As(end, &exit) {
		return &EndError{Code: exit.ExitCode(), Said: said.lines()}
	}
	return end
}

// wait for the end of srun; stopped says why the job must be cancelled first.
func wait(ctx context.Context, name string, limit time.Duration, ended <-chan error, started <-chan struct{}) (end, stopped error) {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case end = <-ended:
			return end, nil
		case <-started:
			started, late = nil, nil
		case <-late:
			return nil, fmt.Errorf("%w (%s): %s", ErrWaited, limit, reason(name))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reason that Slurm has for a job's not running.
func reason(name string) string {
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	out, err := exec.CommandContext(ctx, "squeue", "--noheader", "--user="+me(), "--name="+name, "--format=%T, %r").Output()
	if text := strings.TrimSpace(string(out)); err == nil && text != "" {
		return "squeue has it as " + strings.ToLower(text)
	}
	return "squeue does not say why"
}

func me() string { return strconv.Itoa(os.Getuid()) }

// cancel the job, and see that it is gone.
func cancel(name string) error {
	var last error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
		out, err := exec.CommandContext(ctx, "scancel", "--quiet", "--user="+me(), "--name="+name).CombinedOutput()
		if err != nil {
			last = fmt.Errorf("scancel: %w: %s", err, bytes.TrimSpace(out))
		} else if out, err = exec.CommandContext(ctx, "squeue", "--noheader", "--user="+me(), "--name="+name, "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED", "--format=%i").Output(); err != nil {
			last = fmt.Errorf("squeue: %w", err)
		}
		done()
		if err == nil && len(bytes.TrimSpace(out)) == 0 {
			return nil
		}
	}
	return fmt.Errorf("the job may still be there: %w; next: scancel --name=%s", last, name)
}

// kept are variables of Slurm that a user sets for all jobs.
var kept = []string{"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_ACCOUNT", "SLURM_QOS", "SLURM_RESERVATION", "SLURM_ENV_WAIT", "SLURM_ENV_CHECK"}

// OutsideOfJob leaves out, within a job, what would make srun start a step of it.
func OutsideOfJob(env []string) []string {
	if !slices.ContainsFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "SLURM_JOB_ID=") || strings.HasPrefix(e, "SLURM_JOBID=")
	}) {
		return env
	}
	var out []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "SLURM_JOB_ACCOUNT":
			out = append(out, "SLURM_ACCOUNT="+value)
		case slices.Contains(kept, name):
			out = append(out, e)
		case strings.HasPrefix(name, "SLURM_"), strings.HasPrefix(name, "SLURMD_"), strings.HasPrefix(name, "SRUN_"), strings.HasPrefix(name, "PMI"):
		default:
			out = append(out, e)
		}
	}
	return out
}

// lastBytes keeps the end of what is written.
type lastBytes struct{ kept []byte }

// Write implements io.Writer; it does not fail. os/exec calls it from one goroutine.
func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	if more := len(l.kept) - maxSaid; more > 0 {
		l.kept = append([]byte(nil), l.kept[more:]...)
	}
	return len(p), nil
}

// lines that say something, without those of srun that only count tasks.
func (l *lastBytes) lines() string {
	var out []string
	for line := range strings.Lines(string(l.kept)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, ": Exited with exit code") && !strings.Contains(line, "queued and waiting for resources") && !strings.Contains(line, "has been allocated resources") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
