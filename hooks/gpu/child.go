package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Bounds of what is kept of the child's output: a report of 16 GPUs, each divided
// into seven, has 40 kB.
const (
	maxReport = 1 << 20
	maxSaid   = 64 << 10
)

// drain is how long the child's pipes are read after its end: helpers that the
// driver's library started may hold them open.
const drain = 200 * time.Millisecond

// orphan is how much longer than its parent waits a child lives that its parent did
// not kill, since it was killed itself.
const orphan = 10 * time.Second

// child is the program while it runs.
type child struct {
	cmd     *exec.Cmd
	program string
	born    string // the kernel's time of its start: tells it from a later process
	out     *reader
	said    *reader
	ended   chan error // what Wait returned
}

// start starts the child in a process group of its own, with nothing of this
// process's environment: what LD_* or CUDA variables would change is not the
// node's.
func start(o Options) (*child, error) {
	args := []string{"--progress", "--limit", (o.Limit + o.Reap + orphan).String()}
	if o.Library != "" {
		args = append(args, "--library", o.Library)
	}
	if o.Devices {
		args = append(args, "--devices")
	}
	c := &child{cmd: exec.Command(o.Program, args...), program: o.Program, ended: make(chan error, 1)}
	c.cmd.Env = []string{}
	c.cmd.Dir = "/"
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.out, err = newReader(maxReport); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if c.said, err = newReader(maxSaid); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrProgram, err), c.out.abandon())
	}
	c.cmd.Stdout, c.cmd.Stderr = c.out.write, c.said.write
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w; next: is %s for this architecture, and of this node's release?", ErrProgram, err, o.Program),
			c.out.abandon(), c.said.abandon())
	}
	c.born = born(c.cmd.Process.Pid)
	err = errors.Join(c.out.begin(), c.said.begin())
	// In a goroutine, since it may never return.
	go func() { c.ended <- c.cmd.Wait() }()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrProgram, err), c.stop(o))
	}
	return c, nil
}

// finish waits for the child, in bounds, and reads what it said.
func (c *child) finish(ctx context.Context, o Options) (*Report, error) {
	limit := time.NewTimer(o.Limit)
	defer limit.Stop()
	var err error
	select {
	case err = <-c.ended:
		c.settle(drain)
		return c.answer(err)
	case <-limit.C:
		err = fmt.Errorf("%w: nothing for %v%s; next: look at dmesg for NVRM and Xid; a driver that hangs needs a reboot", ErrTimeout, o.Limit, c.last())
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w%s", ErrTimeout, context.Cause(ctx), c.last())
	}
	if hung := c.stop(o); hung != nil {
		return nil, hung
	}
	return nil, err
}

// stop kills the child and waits for its end no longer than o.Reap. The error
// wraps ErrHung: it still exists.
func (c *child) stop(o Options) error {
	killed := o.kill(c.cmd.Process.Pid)
	reap := time.NewTimer(o.Reap)
	defer reap.Stop()
	select {
	case <-c.ended: // how it ended is known: it was killed
		c.settle(drain)
		return nil
	case <-reap.C:
	}
	c.settle(0)
	err := fmt.Errorf("%w: process %d%s does not end, not even by SIGKILL, and is left alone; no other is started while it exists; next: drain the node and reboot it",
		ErrHung, c.cmd.Process.Pid, c.last())
	if killed != nil {
		err = fmt.Errorf("%w (%w)", err, killed)
	}
	return err
}

// settle ends the readers.
func (c *child) settle(wait time.Duration) {
	c.out.settle(wait)
	c.said.settle(wait)
}

// answer is the report of a child that ended with err.
func (c *child) answer(err error) (*Report, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w%s%s; next: look at dmesg, and run it by hand", ErrCrash, c.program, err, c.last(), c.tail())
	}
	if c.out.cut() {
		return nil, fmt.Errorf("%w: %s printed more than %d bytes", ErrAnswer, c.program, maxReport)
	}
	return Decode(c.out.bytes())
}

// callPrefix begins the child's lines that name a call.
const callPrefix = "call: "

// lastCall is what the child was about to do, "" if it did not say.
func (c *child) lastCall() string {
	said := string(c.said.bytes())
	at := strings.LastIndex("\n"+said, "\n"+callPrefix)
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(said[at+len(callPrefix):], "\n")
	return line
}

func (c *child) last() string {
	if call := c.lastCall(); call != "" {
		return " in " + call
	}
	return ""
}

// tail is the last line that the child, the library or the loader said beside
// names of calls.
func (c *child) tail() string {
	lines := bytes.Split(bytes.TrimSpace(c.said.bytes()), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(string(lines[i])); line != "" && !strings.HasPrefix(line, callPrefix) {
			return fmt.Sprintf(": %.300s", line)
		}
	}
	return ""
}

// killGroup ends the child and what the driver's library started in it.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
