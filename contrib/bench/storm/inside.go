package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The storage has machines of its own: whoever serves it goes before the nodes,
// who share this machine's processors. Nodes are where the benchmark was started.
var (
	niceServer = []string{"nice", "-n", "-10"}
	niceNode   = []string{"nice", "-n", "10"}
)

// giveBack is how long an interrupted benchmark may take to unmount and remove what it has
// made before it is killed, and the kernel does it.
const giveBack = 30 * time.Second

// outside starts the benchmark again in a mount namespace of its own, and ends
// with it. A mount that a killed benchmark leaves is gone with its namespace.
func outside(ctx context.Context, args []string) (int, error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("not root: mounting and loop devices need root")
	}
	// A script that is killed takes the benchmark with it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	words := append(append(append([]string{}, niceServer...), self, "inside"), args[1:]...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = giveBack
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return ended.ExitCode(), nil // it said why
	}
	return 0, err
}
