package wrapper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// namespacesError: the host has no namespaces for this user, whatever is to be attached.
type namespacesError struct{ error }

func (e *namespacesError) Unwrap() error { return e.error }

// startHolder has a holder started: a process with namespaces of its own, which attaches
// what it is asked for through the connection, and through the listener if it is not nil.
func startHolder(ctx context.Context, self, prefix, socket string, listener *os.File) (*holder, *net.UnixConn, error) {
	conn, theirs, err := fdmsg.Pair()
	if err != nil {
		return nil, nil, fmt.Errorf("attaching: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, StartWord, prefix, socket)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = []*os.File{theirs}
	if listener != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, listener)
	}
	var said, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failure
	err = errors.Join(cmd.Run(), theirs.Close())
	h := new(holder)
	if err == nil {
		err = json.Unmarshal(said.Bytes(), h)
	} else if msg := strings.TrimPrefix(strings.TrimSpace(failure.String()), "hpcenv: error: "); msg != "" {
		err = api.Errorf(api.ExitUnreachable, "the environment is not attached on this host: %s", msg)
		if cmd.ProcessState.ExitCode() == exitNamespaces {
			err = &namespacesError{err}
		}
	} else {
		err = fmt.Errorf("attaching: %s %s: %w", self, StartWord, err)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	h.Socket = socket
	return h, conn, nil
}

// exitNamespaces is how a start ends to which the kernel refused namespaces.
const exitNamespaces = 90

// start starts the process that makes and keeps the namespaces, and tells which it is.
// Descriptor 3 is its first connection, 4 where others connect (socket is its path).
// The prefix is for whoever looks at the list of processes.
func start(prefix, socket string, out io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	cmd := exec.Command(self, HoldWord, prefix, socket)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "first")}
	if socket != "" {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(4, "listener"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		// To mount, and to see who is in the namespace.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE},
		// A terminal's Ctrl-C is for the program, not for the holder.
		Setsid: true,
	}
	if err := cmd.Start(); err != nil {
		return exitNamespaces, namespacesRefused(err)
	}
	begun, err := startTime(cmd.Process.Pid)
	if err != nil {
		return failed(fmt.Errorf("the process that keeps the namespace ended early: %w", err))
	}
	if err := json.NewEncoder(out).Encode(holder{Pid: cmd.Process.Pid, Start: begun}); err != nil {
		return failed(err)
	}
	return api.ExitDone, nil
}

// namespacesRefused tells which of the kernel's switches is in the way.
func namespacesRefused(err error) error {
	off := switchedOff("/proc/sys")
	next := "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, or an AppArmor profile for hpcenv)"
	why := ""
	if len(off) > 0 {
		why, next = ": "+strings.Join(off, ", "), "allow user namespaces"
	}
	return api.Errorf(api.ExitUnreachable, "this host lets users have no mounts of their own (user namespaces: %v%s)\nnext: run it in a job (sbatch or srun --env-lock); or ask the administrator to %s, or to attach the environments at boot", err, why, next)
}

// switchedOff are the kernel's switches, below root, that forbid user namespaces.
func switchedOff(root string) []string {
	var out []string
	for _, s := range []struct{ name, bad string }{
		{"user/max_user_namespaces", "0"}, {"user/max_mnt_namespaces", "0"},
		{"kernel/unprivileged_userns_clone", "0"}, {"kernel/apparmor_restrict_unprivileged_userns", "1"},
	} {
		if b, err := os.ReadFile(filepath.Join(root, s.name)); err == nil && strings.TrimSpace(string(b)) == s.bad {
			out = append(out, "sysctl "+strings.ReplaceAll(s.name, "/", ".")+" is "+s.bad)
		}
	}
	return out
}
