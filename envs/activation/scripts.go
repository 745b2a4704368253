package activation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrScript is the class of errors of activation scripts: missing, ended the
// shell, or not done in time. The text names the script.
var ErrScript = errors.New("activation script failed")

// Options bound what scripts may use.
type Options struct {
	// Timeout for all scripts together; 0 = 30 s.
	Timeout time.Duration
	// Stderr receives what scripts print, on either channel; nil = dropped.
	Stderr io.Writer
	// MaxOutput bounds what is passed on to Stderr, in bytes; 0 = 64 KiB.
	MaxOutput int64
	// Dir is the working directory; "" = the caller's.
	Dir string
}

const (
	defaultTimeout   = 30 * time.Second
	defaultMaxOutput = 64 << 10
	// maxEnviron bounds the environment that comes back, in bytes.
	maxEnviron = 8 << 20

	// Descriptors above those that scripts use for themselves.
	fdEnviron  = 193
	fdProgress = 194
	fdContent  = 195
	firstExtra = 3

	exitUnreadable = 97
)

// hidden are variables that change how bash itself starts or behaves; the
// scripts' shell does not see them, and the result keeps them as they were.
var hidden = []string{"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "BASH_XTRACEFD"}

// RunScripts sources the scripts in one bash, in order, and returns the
// environment they leave (exported functions and the shell's own variables as
// they were). A script's exit status does not matter, as with conda and pixi;
// a script that cannot be read, ends the shell or takes too long is an error
// of class ErrScript. Cancelling ctx, or the timeout, kills the scripts'
// process group. Programs are found by fixed paths, never by PATH.
func RunScripts(ctx context.Context, env []string, scripts []Source, opts Options) ([]string, error) {
	if len(scripts) == 0 {
		return parseEnviron(env).list(), nil
	}
	timeout := opts.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	bash, err := fixedProgram("bash", "/bin/bash", "/usr/bin/bash")
	if err != nil {
		return nil, err
	}
	dump, err := fixedProgram("env", "/usr/bin/env", "/bin/env")
	if err != nil {
		return nil, err
	}
	full := parseEnviron(env)
	before := full.clone()
	for _, n := range hidden {
		before.unset(n)
	}
	r := &scriptRun{scripts: scripts, timeout: timeout}
	defer r.close()
	if err := r.open(); err != nil {
		return nil, err
	}
	after, err := r.run(ctx, bash, dump, before.list(), opts)
	if err != nil {
		return nil, err
	}
	// bash sets what was missing (SHLVL, _, PWD): only the differences that
	// count are carried over to what the caller had.
	for _, n := range hidden {
		if n == "POSIXLY_CORRECT" {
			after.unset(n) // ours, see script
		}
	}
	for _, op := range diffEnviron(before, after).Ops {
		if err := full.apply(op); err != nil {
			return nil, err
		}
	}
	return full.list(), nil
}

func fixedProgram(what string, paths ...string) (string, error) {
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: %s is needed to run them, and this node has none at %s; install it", ErrScript, what, strings.Join(paths, ", "))
}

// scriptRun is one run of scripts. Results come back through memory files, not
// pipes: a process that a script left behind can neither block nor delay them.
type scriptRun struct {
	scripts []Source
	timeout time.Duration

	environ, progress *os.File
	contents          []*os.File
	// index of the content of each script; -1 = sourced by path.
	content []int
}

func (r *scriptRun) open() error {
	var err error
	if r.environ, err = memFile("environ", ""); err != nil {
		return err
	}
	if r.progress, err = memFile("progress", ""); err != nil {
		return err
	}
	for _, s := range r.scripts {
		if s.Content == nil {
			r.content = append(r.content, -1)
			continue
		}
		f, err := memFile("script", *s.Content)
		if err != nil {
			return err
		}
		r.content = append(r.content, len(r.contents))
		r.contents = append(r.contents, f)
	}
	return nil
}

// close gives the memory files back; nothing in them is to last.
func (r *scriptRun) close() {
	for _, f := range append([]*os.File{r.environ, r.progress}, r.contents...) {
		if f != nil {
			f.Close()
		}
	}
}

// script is what bash runs. At its end POSIXLY_CORRECT switches to POSIX mode
// by a mere assignment, in which the builtin exec is found before a function
// of that name; /usr/bin/env then writes what is exported.
func (r *scriptRun) script(dump string) string {
	var b strings.Builder
	move := func(to, from int) { fmt.Fprintf(&b, "exec %d>&%d %d>&-\n", to, from, from) }
	move(fdEnviron, firstExtra)
	move(fdProgress, firstExtra+1)
	for i := range r.contents {
		move(fdContent+i, firstExtra+2+i)
	}
	for i, s := range r.scripts {
		file := quotePOSIX(s.Path)
		if c := r.content[i]; c >= 0 {
			file = "/dev/fd/" + strconv.Itoa(fdContent+c)
		}
		fmt.Fprintf(&b, "builtin printf '%%s\\n' %d >&%d\n", i, fdProgress)
		fmt.Fprintf(&b, "{ :; } <%s || builtin exit %d\n", file, exitUnreadable)
		fmt.Fprintf(&b, "set +eu\n. %s\n", file)
	}
	fmt.Fprintf(&b, "builtin printf 'end\\n' >&%d\nset +eu\nPOSIXLY_CORRECT=1\nexec %s -0 >&%d\n", fdProgress, dump, fdEnviron)
	return b.String()
}

func (r *scriptRun) run(ctx context.Context, bash, dump string, env []string, opts Options) (*environ, error) {
	out := &boundedWriter{w: opts.Stderr, left: opts.MaxOutput}
	if out.left <= 0 {
		out.left = defaultMaxOutput
	}
	cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-c", r.script(dump), "hpcenv-activation")
	cmd.Env = env
	cmd.Dir = opts.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = append([]*os.File{r.environ, r.progress}, r.contents...)
	cmd.SysProcAttr = diesWithUs()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Processes that a script left behind may hold the pipe for ever.
	cmd.WaitDelay = 100 * time.Millisecond
	// Pdeathsig follows the thread that forked.
	runtime.LockOSThread()
	err := cmd.Run()
	runtime.UnlockOSThread()
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		err = nil
	}
	at, ended := r.reached()
	name := "start of bash"
	if at < len(r.scripts) {
		name = r.scripts[at].Name
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: %s: not done after %s, killed; look what it waits for, or raise the limit", ErrScript, name, r.timeout)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %s: stopped: %w", ErrScript, name, ctx.Err())
	case exitStatus(err) == exitUnreadable && !ended:
		return nil, fmt.Errorf("%w: %s: cannot be read; if the file is there, check its permissions, else prepare the environment again", ErrScript, name)
	case !ended:
		why := "it ended the shell (exit), which a sourced script must not do"
		if err != nil {
			why += " (" + err.Error() + ")"
		}
		return nil, fmt.Errorf("%w: %s: %s; use return instead", ErrScript, name, why)
	case err != nil:
		return nil, fmt.Errorf("%w: reading back the environment with %s: %w", ErrScript, dump, err)
	}
	return r.result()
}

func exitStatus(err error) int {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode()
	}
	return 0
}

// reached says which script was the last to start, and whether all are done.
func (r *scriptRun) reached() (at int, ended bool) {
	data, err := readMem(r.progress, 1<<16)
	if err != nil {
		return len(r.scripts), false
	}
	at = len(r.scripts)
	for _, line := range strings.Fields(string(data)) {
		if line == "end" {
			ended = true
			continue
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 0 && n < len(r.scripts) {
			at = n
		}
	}
	return at, ended
}

func readMem(f *os.File, limit int64) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return data, err
}

func (r *scriptRun) result() (*environ, error) {
	data, err := readMem(r.environ, maxEnviron)
	if err != nil {
		return nil, fmt.Errorf("%w: reading back the environment: %w", ErrScript, err)
	}
	if len(data) == 0 || data[len(data)-1] != 0 {
		return nil, fmt.Errorf("%w: the environment that they leave came back incomplete; is it larger than the system allows?", ErrScript)
	}
	var list []string
	for _, kv := range bytes.Split(data[:len(data)-1], []byte{0}) {
		list = append(list, string(kv))
	}
	return parseEnviron(list), nil
}

// boundedWriter passes on the first bytes and drops the rest with one line.
type boundedWriter struct {
	w    io.Writer
	left int64
	cut  bool
}

// Write never fails: a closed terminal must not make a script fail.
func (b *boundedWriter) Write(p []byte) (int, error) {
	n := len(p)
	if b.w == nil || b.cut {
		return n, nil
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
		b.cut = true
	}
	b.left -= int64(len(p))
	if _, err := b.w.Write(p); err != nil {
		b.w = nil
		return n, nil
	}
	if b.cut {
		if _, err := io.WriteString(b.w, "\nhpcenv: further output of activation scripts dropped\n"); err != nil {
			b.w = nil
		}
	}
	return n, nil
}
