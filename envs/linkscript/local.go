package linkscript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/sandbox"
)

// maxText bounds messages and output, in bytes each.
const maxText = 8 << 10

// Local runs scripts in the sandbox of this host.
type Local struct{ box *sandbox.Box }

// NewLocal returns the Runner of this host.
func NewLocal(box *sandbox.Box) *Local { return &Local{box: box} }

// HostPlatform is the conda subdir whose programs this host runs.
func HostPlatform() string {
	if runtime.GOARCH == "arm64" {
		return "linux-aarch64"
	}
	return "linux-64"
}

// CanRun implements Runner.
func (l *Local) CanRun(platform string) error {
	if platform != HostPlatform() {
		return fmt.Errorf("%w: this host runs programs of %s, not of %s", ErrCannotRun, HostPlatform(), platform)
	}
	if err := l.box.Available(); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	return nil
}

// Run implements Runner. The scratch directory needs room for a copy of the tree.
func (l *Local) Run(ctx context.Context, t *Task) (*Outcome, error) {
	if err := l.CanRun(t.Platform); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.findEnvironment(ctx); err != nil {
		return nil, err
	}
	if err := l.probeAgain(ctx, t); err != nil {
		return nil, err
	}
	prefix, tmp := filepath.Join(t.Scratch, "prefix"), filepath.Join(t.Scratch, "tmp")
	before, err := copyTree(ctx, t.Tree, prefix)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	if t.Script.Site() {
		if err := makeBuildDir(tmp); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
		}
	}
	out := &Outcome{Script: t.Script}
	err = l.execute(ctx, t, prefix, tmp, before, out)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		err = collect(ctx, t, prefix, out)
	}
	if errors.Is(err, errFailed) {
		out.Failed = strings.TrimPrefix(err.Error(), errFailed.Error()+": ")
		out.Changes = nil
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	return out, nil
}

// check refuses a task that could lead out of the prefix.
func (t *Task) check() error {
	if !filepath.IsLocal(t.Script.Path) || !path.IsAbs(t.Prefix) || path.Clean(t.Prefix) != t.Prefix || t.Prefix == "/" {
		return fmt.Errorf("%w: script %q in prefix %q", ErrCannotRun, t.Script.Path, t.Prefix)
	}
	if t.Script.Site() {
		return t.checkSite()
	}
	return nil
}

// sourceAt is where a pre-link script finds its package's files.
const sourceAt = "/source"

// environ is the script's environment (CEP 34), and what makes programs do the
// same twice.
func (t *Task) environ() []string {
	env := []string{
		"PREFIX=" + t.Prefix, "ROOT_PREFIX=" + t.Prefix, "CONDA_PREFIX=" + t.Prefix,
		"PKG_NAME=" + t.Script.Package, "PKG_VERSION=" + t.Script.Version, "PKG_BUILDNUM=" + strconv.FormatInt(t.Script.BuildNumber, 10),
		"PATH=" + path.Join(t.Prefix, path.Dir(t.Script.Path)) + ":/usr/bin:/bin",
		"HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "TZ=UTC",
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(fixedTime.Unix(), 10), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
	}
	if t.Script.Kind == PreLink {
		env = append(env, "SOURCE_DIR="+sourceAt)
	}
	return env
}

// execute runs the script on the copy at prefix. When it returns without an error,
// all processes of the script are gone.
func (l *Local) execute(ctx context.Context, t *Task, prefix, tmp string, before usage, out *Outcome) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Limits.Time, fmt.Errorf("%w: it ran longer than %v", errFailed, t.Limits.Time))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	spec := sandbox.Spec{
		// The shell is the first process: when it ends, the kernel ends all others
		// before the sandbox counts as ended.
		Argv: []string{"/bin/bash", "-c", `echo ` + started + `; "$@"; exit $?`, "bash", "/bin/bash", path.Join(t.Prefix, t.Script.Path)},
		Dir:  t.Prefix, Env: t.environ(), Fork: true, System: true,
		// A prefix may lie below /tmp.
		Binds: []sandbox.Bind{{From: tmp, At: "/tmp", Write: true}, {From: prefix, At: t.Prefix, Write: true}},
		Limits: sandbox.Limits{
			Processes: t.Limits.Processes, Memory: t.Limits.Memory, FileBytes: before.bytes + t.Limits.Bytes, OpenFiles: 1024, CPU: t.Limits.Time,
		},
	}
	if t.Source != "" {
		spec.Binds = append(spec.Binds, sandbox.Bind{From: t.Source, At: sourceAt})
	}
	if t.Script.Site() {
		t.siteSpec(&spec)
	}
	cmd, done, err := l.box.Command(ctx, spec)
	if err != nil {
		return err
	}
	printed := &tail{keep: t.Script.text()}
	cmd.Stdout, cmd.Stderr = printed, printed
	err = cmd.Start()
	done()
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	w := &watcher{pid: cmd.Process.Pid, limits: t.Limits, dirs: []string{prefix, tmp}, before: before}
	w.free, _ = freeBytes(prefix)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if err := w.watch(ctx); err != nil {
			stop(err)
		}
	}()
	err = cmd.Wait()
	cause := context.Cause(ctx)
	stop(nil)
	<-watching
	text, ran := printed.result()
	out.Output = text
	if cause != nil {
		return cause
	}
	if !ran {
		// That is no fault of the script.
		return fmt.Errorf("the sandbox did not start it: %w: %s", errors.Join(err, io.ErrUnexpectedEOF), text)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Errorf("%w: it ended with %v", errFailed, exit.ProcessState)
	case err != nil:
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	// What it did after the last look.
	return w.checkDisk(context.Background())
}

// started is printed in the sandbox right before the script starts: without it,
// what was printed is bubblewrap's own.
const started = "hpcenv-script-starts"

// tail keeps the end of what is written after started.
type tail struct {
	mu   sync.Mutex
	keep int // bytes
	buf  []byte
	ran  bool
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if !t.ran {
		t.buf = append(t.buf, b...)
		if i := bytes.Index(t.buf, []byte(started+"\n")); i >= 0 {
			t.ran = true
			b, t.buf = bytes.Clone(t.buf[i+len(started)+1:]), nil
		} else {
			b = nil
		}
	}
	t.buf = append(t.buf, b[max(0, len(b)-t.keep):]...)
	if over := len(t.buf) - t.keep; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return n, nil
}

// result is what was kept, made safe, and whether the script was started.
func (t *tail) result() (text string, ran bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return printable(string(t.buf)), t.ran
}

// printable makes foreign text safe for a terminal: no control characters but line
// ends and tabs.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}
