package wrapper

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
	if len(os.Args) > 1 && (os.Args[1] == HoldWord || os.Args[1] == EnterWord) {
		os.Exit(Main(os.Args[1:]))
	}
	if raw := os.Getenv(testCall); raw != "" {
		os.Exit(play(raw))
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
	sum := sha256.Sum256(w.Lock)
	w.writeJSON(t, filepath.Join(w.Store, "meta", id, "linux-64.json"), materialize.Meta{Version: 1, ID: id, Platform: w.Platform, Environment: "default", Prefix: w.prefix, Activation: st})
	base := w.root
	if !cluster {
		base = w.Store
	}
	w.writeJSON(t, filepath.Join(w.Store, "locks", hex.EncodeToString(sum[:]), "index.json"), lockfile.Index{Version: 1, Linker: materialize.LinkerVersion, PrefixRoot: base,
		Environments: map[string]lockfile.IndexEnvironment{"default": {ID: id, Platforms: []string{"linux-64"}}}})
	return w
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

func TestRun(t *testing.T) {
	w := newWorld(t, false)
	w.Activations = map[string][]byte{"default": []byte(`{"name":"proj","env":{"":{"FROM_MANIFEST":"$COMPUTED"}}}`)}
	for name, c := range map[string]struct {
		argv   []string
		code   int
		stdout string
		stderr []string
	}{
		"exit code and output":  {[]string{"tool", "a b"}, 7, "tool a b\n", []string{"noise"}},
		"environment":           {[]string{"sh", "-c", "echo $FROM_MANIFEST $CONDA_DEFAULT_ENV ${PYTHONPATH-unset}"}, 0, w.prefix + " proj unset\n", []string{"PYTHONPATH"}},
		"script without #!":     {[]string{"bare"}, 0, "bare " + w.prefix + "/bin/bare\n", nil},
		"not there":             {[]string{"no-such-command"}, ExitNotFound, "", []string{"no-such-command", "next: "}},
		"not there, by path":    {[]string{"./no-such"}, ExitNotFound, "", []string{"./no-such"}},
		"not runnable":          {[]string{"noexec"}, ExitNotRunnable, "", []string{"noexec"}},
		"interpreter not there": {[]string{"lost"}, ExitNotFound, "", []string{"interpreter"}},
		"nothing":               {nil, api.ExitUsage, "", []string{"next: "}},
		"argument like a flag":  {[]string{"echo", "--", "-n"}, 0, "-- -n\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := w.call
			c2.Argv = c.argv
			run(t, c2.command(t, "PYTHONPATH=/x")).want(t, c.code, c.stdout, c.stderr...)
		})
	}
}

func TestRunWithinRunIsActiveOnce(t *testing.T) {
	w := newWorld(t, false)
	w.Argv = []string{"sh", "-c", "echo $PATH"}
	inner := w.call.command(t)
	outer := w.call
	// The script changes PATH; the run within leaves that alone.
	outer.Argv = []string{"env", "PATH=/mine:" + w.prefix + "/bin:/usr/bin:/bin", inner.Env[2], inner.Path}
	run(t, outer.command(t)).want(t, 0, "/mine:"+w.prefix+"/bin:/usr/bin:/bin\n")
}

func TestTheServiceIsAskedOnlyForWhatIsMissing(t *testing.T) {
	w := newWorld(t, false)
	w.Argv = []string{"true"}
	run(t, w.command(t)).want(t, 0, "")
	other := w.call
	other.Lock = []byte("another lock")
	run(t, other.command(t)).want(t, api.ExitUnreachable, "", "the service was asked")
	other = w.call
	other.Environment = "gex"
	run(t, other.command(t)).want(t, api.ExitUnreachable, "", "the service was asked")
}

func TestHook(t *testing.T) {
	w := newWorld(t, false)
	w.Hook = true
	for shell, args := range map[string][]string{"bash": {"--norc"}, "sh": nil, "": nil} {
		c := w.call
		c.HookFor = shell
		got := run(t, c.command(t, "SHELL=/bin/sh"))
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		if shell == "" {
			shell = "sh"
		}
		cmd := exec.Command(shell, append(args, "-c", got.stdout+"\necho $CONDA_PREFIX $COMPUTED; tool x")...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		run(t, cmd).want(t, 7, w.prefix+" "+w.prefix+"\ntool x\n")
	}
	c := w.call
	c.HookFor = "powershell"
	run(t, c.command(t)).want(t, api.ExitUsage, "", "powershell", "bash")
}

func TestShell(t *testing.T) {
	w := newWorld(t, false)
	w.Shell = true
	w.Activations = map[string][]byte{"default": []byte("{\"name\":\"proj`$(id)`\"}")}
	home := t.TempDir()
	w.write(t, filepath.Join(home, ".bashrc"), "PATH=/from/bashrc:/usr/bin:/bin:"+w.prefix+"/bin; PS1='$ '; CONDA_PREFIX=/other; OWN=1\n", 0o644)
	cmd := w.command(t, "SHELL=/bin/bash", "HOME="+home)
	cmd.Env = append([]string{"HOME=" + home}, cmd.Env...)
	cmd.Stdin = strings.NewReader("echo \"$PS1|$OWN|$PATH|$CONDA_PREFIX\"\ntool y\nexit 5\n")
	run(t, cmd).want(t, 5, "(proj??(id)?) $ |1|"+w.prefix+"/bin:/from/bashrc:/usr/bin:/bin|"+w.prefix+"\ntool y\n")
	c := w.call
	cmd = c.command(t, "SHELL=/no/such/shell")
	cmd.Stdin = strings.NewReader("echo $CONDA_PREFIX\n")
	run(t, cmd).want(t, 0, w.prefix+"\n")
}

// accounts are those that a launch is tried as: the one of the test, and if
// that is root, an ordinary one too.
func accounts() map[string]*syscall.SysProcAttr {
	out := map[string]*syscall.SysProcAttr{"own account": nil}
	if os.Getuid() == 0 {
		out["ordinary account"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	return out
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if err := exec.Command("unshare", "-Um", "true").Run(); err != nil {
		t.Skipf("USER NAMESPACES REFUSED: attaching without root is not tested here (%v)", err)
	}
}

func TestRunAttaches(t *testing.T) {
	needNamespaces(t)
	w := newWorld(t, true)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A copy that every account may run.
	bin := filepath.Join(filepath.Dir(w.Store), "hpcenv")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, bin, string(data), 0o755)
	for name, as := range accounts() {
		t.Run(name, func(t *testing.T) {
			c := w.call
			c.Argv = []string{"sh", "-c", "pwd; id -u; cat $CONDA_PREFIX/conda-meta/history; echo \"$ODD\"; exec tool \"$COMPUTED\""}
			cmd := c.command(t, "ODD=\xff\n'")
			cmd.Path, cmd.Dir, cmd.SysProcAttr = bin, "/var", as
			uid := os.Getuid()
			if as != nil {
				uid = int(as.Credential.Uid)
			}
			run(t, cmd).want(t, 7, fmt.Sprintf("/var\n%d\n\xff\n'\ntool %s\n", uid, w.prefix))
			if entries, err := os.ReadDir(w.root); err != nil || len(entries) != 0 {
				t.Errorf("the host sees %v, %v at the prefix root", entries, err)
			}
			waitForHolders(t, w.root)
		})
	}
}

// waitForHolders waits until no holder for a prefix root is left.
func waitForHolders(t *testing.T, root string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, p := range procs {
			if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte(HoldWord)) && bytes.Contains(data, []byte(root)) {
				left = p
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a holder is left: %s", left)
		}
	}
}

func TestRanksOfAStepShareOneNamespace(t *testing.T) {
	needNamespaces(t)
	w := newWorld(t, true)
	w.Argv = []string{"readlink", "/proc/self/ns/mnt"}
	const ranks = 8
	step := func(env ...string) map[string]bool {
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for range ranks {
			cmd, out := w.command(t, env...), new(bytes.Buffer)
			cmd.Stdout, cmd.Stderr = out, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		seen := map[string]bool{}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			seen[outs[i].String()] = true
		}
		return seen
	}
	jobID := fmt.Sprintf("SLURM_JOB_ID=test%d", os.Getpid())
	t.Cleanup(func() {
		files, err := filepath.Glob(fmt.Sprintf("/tmp/hpcenv-%d/test%d.*", os.Getuid(), os.Getpid()))
		if err != nil {
			t.Error(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Error(err)
			}
		}
	})
	if seen := step(jobID, "SLURM_STEP_ID=0"); len(seen) != 1 {
		t.Errorf("%d ranks of a step are in %d namespaces: %v", ranks, len(seen), seen)
	}
	if seen := step(); len(seen) != ranks {
		t.Errorf("%d programs outside of jobs are in %d namespaces", ranks, len(seen))
	}
	waitForHolders(t, w.root)
	// The file now names a process that is gone.
	if seen := step(jobID, "SLURM_STEP_ID=0"); len(seen) != 1 {
		t.Errorf("after the holder's end, %d ranks are in %d namespaces", ranks, len(seen))
	}
	waitForHolders(t, w.root)
}

func TestNotAttachable(t *testing.T) {
	w := newWorld(t, true)
	w.Argv = []string{"true"}
	c := w.call
	c.Hook = true
	run(t, c.command(t)).want(t, api.ExitUnreachable, "", w.prefix, "next: ")
	if err := os.Remove(w.root); err != nil {
		t.Fatal(err)
	}
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", w.root, "next: ", "mkdir")
	if err := os.RemoveAll(filepath.Join(w.Store, "trees")); err != nil {
		t.Fatal(err)
	}
	run(t, w.command(t)).want(t, api.ExitUnreachable, "", w.Store, "next: ", "mounted")
}
