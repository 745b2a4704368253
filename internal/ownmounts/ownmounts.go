// Package ownmounts gives a test program a mount namespace of its own. Tests that mount
// file systems need it where other programs of the machine make namespaces, too: one that
// is made while a file system is mounted has the mount as well and keeps it, and a FUSE
// server of the test then waits for an end that does not come.
package ownmounts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// within is set in the environment of a program that has its own namespace.
const within = "HPCENV_TEST_OWN_MOUNTS"

// Run runs the test program's tests in a private mount namespace and returns what the
// program must exit with. Only root can make one; for others run is called as they are. It is for TestMain, after
// what makes the test program a child of a test.
func Run(run func() int) int {
	if os.Geteuid() != 0 || os.Getenv(within) != "" {
		return run()
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), within+"=1"), os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "the tests, in mounts of their own:", err)
		return 1
	}
	return 0
}
