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
	"testing"

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
