package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tool is the mksquashfs of this host. It may be used by many goroutines.
type Tool struct {
	path string
	once sync.Once
	err  error
	// Version and Libzstd as "4.5.1"; Libzstd is "" where it cannot be told.
	version, libzstd string
	// processors of one run.
	processors int
	// lfs names the tool that lays files over the servers of Lustre, and onLustre
	// tells whether a directory lies on it; tests have their own.
	lfs      string
	onLustre func(dir string) (bool, error)
	// free tells the room below a directory; tests have their own.
	free func(dir string) (int64, error)
}

// maxProcessors bounds one run: more do not help where one disk is read.
const maxProcessors = 8

// NewTool returns the mksquashfs of this host; nothing is looked for before it is
// needed. path names another one than PATH (or /usr/sbin) has; "" = that one.
func NewTool(path string) *Tool {
	return &Tool{path: path, processors: min(runtime.GOMAXPROCS(0), maxProcessors), lfs: "lfs", onLustre: onLustre, free: free}
}

// UseProcessors bounds one run to n processors.
func (t *Tool) UseProcessors(n int) { t.processors = max(n, 1) }

// Available returns an ErrTool error if no images can be made here, and why.
func (t *Tool) Available(ctx context.Context) error {
	t.once.Do(func() { t.err = t.find(context.WithoutCancel(ctx)) })
	return t.err
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^mksquashfs version (\S+)`) })

// find looks for mksquashfs and tries it: old ones lack zstd or options.
func (t *Tool) find(ctx context.Context) (err error) {
	if t.path == "" {
		t.path, err = exec.LookPath("mksquashfs")
		if errors.Is(err, exec.ErrNotFound) {
			t.path, err = exec.LookPath("/usr/sbin/mksquashfs")
		}
		if err != nil {
			return fmt.Errorf("%w: this host has no mksquashfs (%w); next: install squashfs-tools (4.5 or newer), or choose the delivery tree", ErrTool, err)
		}
	}
	out, err := t.command(ctx, "-version").Output()
	m := versionPattern().FindSubmatch(out)
	if m == nil {
		// It is known to exit with 0 or 1 here, by version.
		return errors.Join(fmt.Errorf("%w: %s -version does not tell its version; next: install squashfs-tools", ErrTool, t.path), err)
	}
	t.version = string(m[1])
	t.libzstd = t.findLibzstd(ctx)
	dir, err := os.MkdirTemp("", "hpcenv-image-")
	if err != nil {
		return fmt.Errorf("%w: try %s: %w", ErrTool, t.path, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		return fmt.Errorf("%w: try %s: %w", ErrTool, t.path, err)
	}
	if err := t.run(ctx, empty, filepath.Join(dir, "image")); err != nil {
		return fmt.Errorf("%w; next: install squashfs-tools 4.5 or newer with zstd, or choose the delivery tree", err)
	}
	return nil
}

// findLibzstd asks the loader which file mksquashfs gets for libzstd: its name has
// the version.
func (t *Tool) findLibzstd(ctx context.Context) string {
	cmd := t.command(ctx)
	cmd.Env = append(cmd.Env, "LD_TRACE_LOADED_OBJECTS=1")
	out, err := cmd.Output()
	if err != nil {
		return "" // linked statically, or another loader
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "libzstd.so.") || f[1] != "=>" {
			continue
		}
		if real, err := filepath.EvalSymlinks(f[2]); err == nil {
			return strings.TrimPrefix(filepath.Base(real), "libzstd.so.")
		}
	}
	return ""
}

// command is a run of mksquashfs with nothing of this process's environment:
// SOURCE_DATE_EPOCH, for one, would contradict the options. It ends with ctx, and
// with this process.
func (t *Tool) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"}
	cmd.SysProcAttr, cmd.WaitDelay = dieWithParent(), 5*time.Second
	return cmd
}

// run makes an image of tree at out. What mksquashfs says is in the error.
func (t *Tool) run(ctx context.Context, tree, out string) error {
	// The kernel's word that a parent died follows the thread that forked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := t.command(ctx, t.arguments(tree, out)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = nil, &limited{&said, 4 << 10}
	// Its own parallel children are threads; nothing keeps the pipe open after it.
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(said.String())
	if text != "" {
		text = ": " + text
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			text += " (it was killed: too little memory for it?)"
		}
	}
	if full := diskFull(text); full != nil {
		err = fmt.Errorf("%w (%w)", err, full)
	}
	return fmt.Errorf("%w: %s (version %s): %w%s", ErrTool, t.path, t.version, err, text)
}

// diskFull finds in what a program said why the system refused a write: it exits with
// 1 whatever is wrong, and removes what it wrote. Its words are the C library's.
func diskFull(said string) error {
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT} {
		if strings.Contains(strings.ToLower(said), strings.ToLower(errno.Error())) {
			return errno
		}
	}
	return nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n]) // a buffer never fails
	return len(p), nil
}
