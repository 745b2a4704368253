package smoke

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Result of trying a module.
type Result struct {
	Module
	// OK: it works, or is not meant to here.
	OK bool `json:"ok"`
	// Elsewhere: it does not load, and is for hardware that this node does not have. Who
	// tries it does not know; it is said by what judges nodes.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Error in one line: the last that the process said, or how it ended.
	Error string `json:"error,omitempty"`
	// Signal that ended the process, as SIGSEGV.
	Signal  string  `json:"signal,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Options of Try.
type Options struct {
	// Prefix of the environment, and the variables in which it is active.
	Prefix string
	Env    []string
	// Limit for one module; 0 = DefaultLimit.
	Limit time.Duration
	// Parallel processes at most; 0 = 1.
	Parallel int
}

// DefaultLimit is how long a module may take. Large ones need seconds from a cold
// parallel file system.
const DefaultLimit = 2 * time.Minute

// What the processes run. An opener takes what is not there yet when it is called, as
// UCX and libfabric do.
const (
	importCode = "import importlib, sys; importlib.import_module(sys.argv[1])"
	openCode   = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_LAZY)"
)

// Try modules, each in a process of its own, and tell of each as it ends. It returns
// when all were tried or the context is done. The error says that nothing can be tried
// at all.
func Try(ctx context.Context, o Options, modules []Module, tell func(Result)) error {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	// Not the caller's directory: its files could be taken for modules, and some
	// modules write where they are.
	dir, err := os.MkdirTemp("", "hpcenv-smoke-")
	if err != nil {
		return fmt.Errorf("a directory to try modules in: %w; next: TMPDIR names one that can be written to", err)
	}
	python := pythonOf(o.Prefix)
	todo := make(chan Module)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range max(1, o.Parallel) {
		workers.Go(func() {
			for m := range todo {
				r := o.try(ctx, dir, python, m)
				if ctx.Err() != nil {
					continue // it did not end by itself
				}
				mu.Lock()
				tell(r)
				mu.Unlock()
			}
		})
	}
	for _, m := range modules {
		select {
		case todo <- m:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(todo)
	workers.Wait()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("what modules wrote: %w", err)
	}
	return ctx.Err()
}

// pythonOf a prefix; "" = it has none.
func pythonOf(prefix string) string {
	for _, name := range []string{"python", "python3"} {
		p := filepath.Join(prefix, "bin", name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

func (o Options) try(ctx context.Context, dir, python string, m Module) Result {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	var argv, env []string
	file := filepath.Join(o.Prefix, filepath.FromSlash(m.Name))
	switch {
	case m.How == Import:
		argv = []string{python, "-c", importCode, m.Name}
	case python != "":
		argv = []string{python, "-c", openCode, file}
	default: // the loader opens it, as the C library of this node has it
		argv, env = []string{"/bin/true"}, []string{"LD_PRELOAD=" + file}
	}
	out := Result{Module: m}
	if argv[0] == "" {
		out.Error = "the environment has no bin/python"
		return out
	}
	said := &tail{limit: 16 << 10}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(o.Env[:len(o.Env):len(o.Env)], env...), said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	begun := time.Now()
	err := cmd.Run()
	out.Seconds = float64(time.Since(begun).Milliseconds()) / 1000
	out.judge(err, said.last(), ctx.Err() != nil, o.Limit)
	if env != nil && out.OK {
		// The loader says it, and goes on without.
		if i := strings.Index(said.text(), "cannot be preloaded"); i >= 0 {
			out.OK, out.Error = false, preloadError(said.text()[i:])
		}
	}
	return out
}

func preloadError(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if _, reason, ok := strings.Cut(line, "("); ok {
		return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(reason), "."), "): ignored")
	}
	return line
}

// judge how a process ended.
func (r *Result) judge(err error, last string, late bool, limit time.Duration) {
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && !late: // what it left behind does not matter
		r.OK = true
	case late:
		r.Error = fmt.Sprintf("has not ended in %s", limit)
	case errors.As(err, &exit):
		r.Error = last
		status, ok := exit.Sys().(syscall.WaitStatus)
		if ok && status.Signaled() {
			r.Signal = unix.SignalName(status.Signal())
			r.Error = "ended by " + r.Signal + because[status.Signal()]
		} else if last == "" {
			r.Error = fmt.Sprintf("ended with exit code %d, without a word", exit.ExitCode())
		}
	default:
		r.Error = err.Error()
	}
}

var because = map[syscall.Signal]string{
	syscall.SIGILL:  " (an instruction that this processor does not have)",
	syscall.SIGSEGV: " (memory that is not there)",
	syscall.SIGBUS:  " (memory or a file that is not all there)",
	syscall.SIGKILL: " (out of memory?)",
}

// tail keeps the end of what is written.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
}

// Write implements io.Writer; it does not fail.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if more := len(t.kept) - t.limit; more > 0 {
		t.kept = append([]byte(nil), t.kept[more:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// last line that is not empty.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(t.text()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
