package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoSandbox: this host has no sandbox, and package code never runs outside of
// one.
var ErrNoSandbox = errors.New("no sandbox on this host")

// probeTime bounds one test of the sandbox.
const probeTime = 10 * time.Second

// Box is the sandbox of this host. It may be used by many goroutines.
type Box struct {
	once   sync.Once
	bwrap  string
	limits string
	// drop are the program and its arguments by which this process's capabilities are
	// given up first (a daemon may have one to give files to groups); nil = it has none
	// that a program would inherit, and bubblewrap takes none.
	drop []string
	args []string
	// proc: the sandbox can have a /proc of its own. Where parts of the host's are
	// hidden from this process (containers, services) the kernel allows none.
	proc bool
	err  error
}

// New returns the sandbox of this host; nothing is looked for before it is
// needed.
func New() *Box { return &Box{} }

// Available tells, once for all calls, whether the sandbox works on this host;
// else the error is of class ErrNoSandbox and says what is missing.
func (b *Box) Available() error {
	b.once.Do(func() { b.err = b.probe() })
	return b.err
}

func (b *Box) probe() error {
	var err error
	if b.bwrap, err = exec.LookPath("bwrap"); errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: bubblewrap (bwrap) is not installed", ErrNoSandbox)
	} else if err != nil {
		return fmt.Errorf("%w: bubblewrap (bwrap) is not installed: %w", ErrNoSandbox, err)
	}
	if b.limits, err = exec.LookPath("prlimit"); err != nil {
		return fmt.Errorf("%w: prlimit (util-linux) is not installed: %w", ErrNoSandbox, err)
	}
	if b.drop, err = dropping(); err != nil {
		return err
	}
	var errs []error
	// Older bubblewraps cannot forbid name spaces within; the filter of system
	// calls does as well.
	for _, extra := range [][]string{{"--disable-userns"}, nil} {
		b.args = append(baseArgs(), extra...)
		if err := b.try(Spec{}); err != nil {
			errs = append(errs, err)
			continue
		}
		b.proc = true
		if b.try(Spec{Fork: true, System: true}) != nil {
			b.proc = false
		}
		return nil
	}
	return fmt.Errorf("%w: %s does not work here (are user name spaces allowed?): %w", ErrNoSandbox, b.bwrap, errors.Join(errs...))
}

func (b *Box) try(s Spec) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	s.Argv = []string{"/usr/bin/env", "-i", "/usr/bin/true"}
	s.Limits = Limits{Memory: 1 << 30, OpenFiles: 64, CPU: probeTime, Processes: 8}
	cmd, done, err := b.command(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// dropping is the start of a command line that gives up the capabilities which
// programs inherit; nil if there are none.
func dropping() ([]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, nil // no Linux, or nothing to look at: bwrap tells
	}
	_, ambient, found := strings.Cut(string(status), "\nCapAmb:")
	ambient, _, _ = strings.Cut(ambient, "\n")
	if set, err := strconv.ParseUint(strings.TrimSpace(ambient), 16, 64); !found || err != nil || set == 0 {
		return nil, nil
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return nil, fmt.Errorf("%w: this process has capabilities (AmbientCapabilities=), and setpriv (util-linux), which gives them up, is not installed: %w", ErrNoSandbox, err)
	}
	return []string{setpriv, "--inh-caps=-all", "--ambient-caps=-all", "--"}, nil
}

// baseArgs are bwrap's arguments for every Spec.
func baseArgs() []string {
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
		"--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--ro-bind", "/usr", "/usr",
	}
	return append(args, same("/lib", "/lib64", "/lib32")...)
}

// same shows directories of the host as they are there, read-only, links as links.
func same(paths ...string) (args []string) {
	for _, p := range paths {
		if text, err := os.Readlink(p); err == nil {
			args = append(args, "--symlink", text, p)
		} else if _, err := os.Stat(p); err == nil {
			args = append(args, "--ro-bind", p, p)
		}
	}
	return args
}

// Command is a command in the sandbox, not started; its standard streams are the
// caller's to set. It ends with ctx. done frees what it needs and must be called
// after it has started or failed to. Errors are of class ErrNoSandbox.
func (b *Box) Command(ctx context.Context, s Spec) (cmd *exec.Cmd, done func(), err error) {
	if err := b.Available(); err != nil {
		return nil, nil, err
	}
	return b.command(ctx, s)
}

func (b *Box) command(ctx context.Context, s Spec) (cmd *exec.Cmd, done func(), err error) {
	filter, err := seccompFile(s.Fork)
	if err != nil {
		return nil, nil, err
	}
	// Limits are set by another program, so that no instruction of the package
	// runs before they hold.
	args := append(s.Limits.args(s.Fork), b.bwrap)
	args = append(args, b.args...)
	if s.System {
		// awk, sh and others are links to /etc/alternatives on Debian.
		args = append(args, same("/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")...)
		args = append(args, "--dev", "/dev", "--remount-ro", "/dev")
		if b.proc {
			args = append(args, "--proc", "/proc")
		}
	}
	for _, x := range s.Binds {
		how := "--ro-bind"
		if x.Write {
			how = "--bind"
		}
		args = append(args, how, x.From, x.At)
	}
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		args = append(args, "--setenv", name, value)
	}
	dir := s.Dir
	if dir == "" {
		dir = "/"
	}
	const filterFD = 3 // the first of ExtraFiles
	args = append(args, "--remount-ro", "/", "--chdir", dir, "--seccomp", strconv.Itoa(filterFD), "--")
	args = append(append(slices.Clone(b.drop), b.limits), append(args, s.Argv...)...)
	cmd = exec.CommandContext(ctx, args[0], args[1:]...)
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
