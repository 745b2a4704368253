package bytecode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one process. It cannot write a byte to any file, nor start others.
const (
	maxMemory    = 3 << 20 // KiB of address space
	maxCPU       = 4 * 3600
	maxOpenFiles = 64
)

// probeTime bounds the test of the sandbox.
const probeTime = 10 * time.Second

// Sandbox runs the interpreter of packages: it sees /usr, the libraries, the
// interpreter's own files and the driver, all of them read-only; it has no
// network, no other processes, no home, no store, no variables but
// PYTHONHASHSEED, no privileges and no way to write but its standard output.
type Sandbox struct {
	once sync.Once
	bin  string
	args []string
	err  error
}

// NewSandbox returns the sandbox of this host; nothing is looked for before it
// is needed.
func NewSandbox() *Sandbox { return &Sandbox{} }

// Available tells, once for all calls, whether the sandbox works on this host;
// else the error is of class ErrNoSandbox and says what is missing.
func (s *Sandbox) Available() error {
	s.once.Do(func() { s.err = s.probe() })
	return s.err
}

func (s *Sandbox) probe() error {
	bin, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("%w: bubblewrap (bwrap) is not installed: %w", ErrNoSandbox, err)
	}
	s.bin = bin
	var errs []error
	// Older bubblewraps cannot forbid name spaces within; the sandbox holds
	// without that.
	for _, extra := range [][]string{{"--disable-userns"}, nil} {
		s.args = append(baseArgs(), extra...)
		err := s.try()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%w: %s does not work here (are user name spaces allowed?): %w", ErrNoSandbox, bin, errors.Join(errs...))
}

func (s *Sandbox) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd, done, err := s.command(ctx, nil, "/usr/bin/env", "-i", "/usr/bin/true")
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	done()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// baseArgs are bwrap's arguments for everything but the interpreter.
func baseArgs() []string {
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
		"--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr",
	}
	for _, dir := range []string{"/lib", "/lib64", "/lib32"} {
		if text, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", text, dir)
		} else if _, err := os.Stat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	return args
}

// command is a command in the sandbox; binds are directories of this host and
// where they appear, read-only. The command ends with ctx. done frees what it
// needed and must be called after it has started or failed.
func (s *Sandbox) command(ctx context.Context, binds [][2]string, argv ...string) (cmd *exec.Cmd, done func(), err error) {
	filter, err := seccompFile()
	if err != nil {
		return nil, nil, err
	}
	// A shell sets the limits, so that no instruction of the package runs before.
	limits := fmt.Sprintf("ulimit -c 0 && ulimit -f 0 && ulimit -n %d && ulimit -t %d && ulimit -v %d && exec \"$@\"", maxOpenFiles, maxCPU, maxMemory)
	args := append([]string{"-c", limits, "sh", s.bin}, s.args...)
	for _, b := range binds {
		args = append(args, "--ro-bind", b[0], b[1])
	}
	const filterFD = 3 // the first of ExtraFiles
	args = append(args, "--remount-ro", "/", "--chdir", "/", "--seccomp", strconv.Itoa(filterFD), "--")
	cmd = exec.CommandContext(ctx, "/bin/sh", append(args, argv...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{filter}
	// bwrap's child dies with bwrap only from a certain point of its start on;
	// until then it is in bwrap's process group, which is ended as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		if errors.Is(err, unix.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd, func() { filter.Close() }, nil // only read
}
