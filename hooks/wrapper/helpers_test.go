package wrapper

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// The test's own binary plays the command line: a launch replaces its process.
const (
	testCall = "HPCENV_WRAPPER_TEST"
	id       = "0123456789abcdef0123456789abcdef"
)

type call struct {
	Store, Environment, Platform, HookFor string
	Lock                                  []byte
	Activations                           map[string][]byte
	Argv                                  []string
	Shell, Hook                           bool
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && Serves(os.Args[1]) {
		os.Exit(Main(os.Args[1:]))
	}
	if raw := os.Getenv(testCall); raw != "" {
		os.Exit(play(raw))
	}
	// Most tests wait for holders to end, and compute little.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func play(raw string) int {
	var c call
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, testCall+"=") {
			env = append(env, kv)
		}
	}
	o := Options{Store: c.Store, Environment: c.Environment, Platform: c.Platform, Env: env, Stdout: os.Stdout, Stderr: os.Stderr,
		Request: api.PrepareRequest{Lock: c.Lock, LockPath: "/w/pixi.lock", Activations: c.Activations},
		Service: func(context.Context) (api.Service, error) {
			return nil, api.Errorf(api.ExitUnreachable, "the service was asked")
		}}
	var code int
	var err error
	switch {
	case c.Hook:
		code, err = Hook(context.Background(), o, c.HookFor)
	case c.Shell:
		code, err = Shell(context.Background(), o)
	default:
		code, err = Run(context.Background(), o, c.Argv)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hpcenv: error:", err)
	}
	return code
}

// world is a store with one environment of one lock.
type world struct {
	call
	prefix, root string
}

// newWorld makes a store. In a cluster's store the prefix is below a root that
// is not attached; in a user's own it is the tree.
func newWorld(t *testing.T, cluster bool) *world {
	t.Helper()
	// Other accounts must reach it.
	dir, err := os.MkdirTemp("/tmp", "wrapper-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &world{}
	w.Store, w.Platform, w.Lock = filepath.Join(dir, "store"), "linux-64", []byte("lock of "+t.Name())
	tree := filepath.Join(w.Store, "trees", w.Platform, id)
	w.prefix = tree
	if cluster {
		w.root = filepath.Join(dir, "e")
		w.prefix = filepath.Join(w.root, id)
		if err := os.Mkdir(w.root, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, filepath.Join(tree, "conda-meta/history"), "", 0o644)
	w.write(t, filepath.Join(tree, "bin/tool"), "#!/bin/sh\necho tool \"$@\"\nexit 7\n", 0o755)
	w.write(t, filepath.Join(tree, "bin/noexec"), "x", 0o644)
	w.write(t, filepath.Join(tree, "bin/bare"), "echo bare $0\n", 0o755)
	w.write(t, filepath.Join(tree, "bin/lost"), "#!/nonexistent/python\n", 0o755)
	w.write(t, filepath.Join(tree, "etc/conda/activate.d/a.sh"), "echo noise; export COMPUTED=$CONDA_PREFIX\n", 0o644)
	st, err := activation.FromTree(tree, w.prefix)
	if err != nil {
		t.Fatal(err)
	}
	w.writeJSON(t, filepath.Join(w.Store, "meta", id, "linux-64.json"), materialize.Meta{Version: 1, ID: id, Platform: w.Platform, Environment: "default", Prefix: w.prefix, Activation: st})
	w.reindex(t, id)
	return w
}

// reindex notes that the environment of the lock is the one with this id.
func (w *world) reindex(t *testing.T, id string) {
	t.Helper()
	base := w.root
	if base == "" {
		base = w.Store
	}
	sum := sha256.Sum256(w.Lock)
	w.writeJSON(t, filepath.Join(w.Store, "locks", hex.EncodeToString(sum[:]), "index.json"), lockfile.Index{Version: 1, Linker: materialize.LinkerVersion, PrefixRoot: base,
		Environments: map[string]lockfile.IndexEnvironment{"default": {ID: id, Platforms: []string{"linux-64"}}}})
}

func (w *world) write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (w *world) writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, path, string(data), 0o644)
}

type outcome struct {
	code           int
	stdout, stderr string
}

// command is a call of our own binary; env is added to a plain environment.
func (c call) command(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", testCall + "=" + string(raw)}, env...)
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func (o outcome) want(t *testing.T, code int, stdout string, stderr ...string) {
	t.Helper()
	if o.code != code || o.stdout != stdout {
		t.Errorf("exit %d, stdout %q; want %d, %q\nstderr: %s", o.code, o.stdout, code, stdout, o.stderr)
	}
	for _, s := range stderr {
		if !strings.Contains(o.stderr, s) {
			t.Errorf("stderr %q does not say %q", o.stderr, s)
		}
	}
}

// until waits for something to become so.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not become so")
		}
	}
}

func cmdline(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "" // it has ended
	}
	return string(data)
}

// holders are the processes that hold namespaces for a prefix root.
func holders(t *testing.T, root string) []int {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, p := range procs {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			t.Fatal(err)
		}
		if line := cmdline(pid); strings.Contains(line, "\x00"+HoldWord+"\x00"+root) {
			out = append(out, pid)
		}
	}
	return out
}

// waitForHolders waits until no holder for a prefix root is left.
func waitForHolders(t *testing.T, root string) {
	t.Helper()
	until(t, func() bool { return len(holders(t, root)) == 0 })
}

// step is the environment of a Slurm step; its files are removed at the test's end.
func (w *world) step(t *testing.T, name string) []string {
	t.Helper()
	job := fmt.Sprintf("%s%d", name, os.Getpid())
	t.Cleanup(func() {
		files, err := filepath.Glob(fmt.Sprintf("/tmp/hpcenv-%d/%s.*", os.Getuid(), job))
		if err != nil {
			t.Error(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Error(err)
			}
		}
	})
	return []string{"SLURM_JOB_ID=" + job, "SLURM_STEP_ID=0"}
}

// lockedBuffer may be read while a command writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
