//go:build cluster

package clustertest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/envs/image"
)

const (
	user1      = "hpcenv-user1"
	user2      = "hpcenv-user2"
	daemonUser = "hpcenvd"
)

var keep = flag.Bool("keep", false, "leave the cluster running")

// programs run as an account of the cluster: u1 NAME ARGUMENTS….
var programs = map[string]func(){
	"await":          program(awaitJob),
	"running":        program(awaitRunning),
	"release":        program(releaseJob),
	"timed":          program(timed),
	"writes-outside": program(writesOutside),
	"osx-only":       program(osxOnly),
	"root-squash":    program(rootSquash),
	"hang":           program(hang),
	"stalled":        program(stalled),
	"stuck":          program(stuck),
	"deny":           program(deny),
	"automount":      program(automount),
	"measured":       program(measured),
}

func TestMain(m *testing.M) {
	commands := map[string]func(){
		"u1": func() { runAs(user1) },
		"u2": func() { runAs(user2) },
		// The daemon's own account is an administrator.
		"daemon-account": func() { runAs(daemonUser) },
	}
	for name, f := range programs {
		commands[name] = f
	}
	testscript.Main(runner{m}, commands)
}

// runner starts the cluster before the tests and stops it afterwards.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	flag.Parse()
	// One story at a time: each asserts that it leaves nothing behind.
	if err := flag.Set("test.parallel", "1"); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		return 1
	}
	c, err := startCluster()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		if c != nil {
			c.stop()
		}
		return 1
	}
	shared = c
	code := r.m.Run()
	if !*keep {
		if err := c.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "clustertest:", err)
			code = 1
		}
	}
	return code
}

// shared is the cluster of this test process: starting one per story would
// take longer than the stories.
var shared *cluster

// TestStories runs what users do.
func TestStories(t *testing.T) { runScripts(t, "script") }

// TestErrors runs what goes wrong.
func TestErrors(t *testing.T) { runScripts(t, "errors") }

// TestMixed runs what users do on a cluster of unlike nodes.
func TestMixed(t *testing.T) {
	if !shared.aarch64 {
		t.Skip("THE CLUSTER WAS STARTED WITHOUT ITS aarch64 NODE")
	}
	for node, tree := range mixedTrees {
		if err := shared.become(node, tree); err != nil {
			t.Fatal(err)
		}
	}
	shared.trees = mixedTrees
	t.Cleanup(func() {
		shared.trees = nil
		for node := range mixedTrees {
			if err := shared.become(node, ""); err != nil {
				t.Error(err)
			}
		}
	})
	runScripts(t, "mixed")
}

// TestLong runs what takes too long for every change (make test-image-faults).
func TestLong(t *testing.T) {
	if os.Getenv("HPCENV_TEST_LONG") == "" {
		t.Skip("HPCENV_TEST_LONG is not set")
	}
	runScripts(t, "long")
}

func runScripts(t *testing.T, dir string) {
	work := filepath.Join(shared.state, "work", dir)
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		WorkdirRoot:         work,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               shared.setup,
		Condition:           shared.condition,
		Cmds:                shared.commands(t),
		Deadline:            time.Now().Add(25 * time.Minute),
	})
}

// setup prepares a story's directory: it belongs to the first user.
func (c *cluster) setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	// The story's own directory and what leads to it.
	for dir := env.WorkDir; len(dir) > len(c.state); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HPCENV_DEVCLUSTER", c.state)
	env.Setenv("HOME", home)
	env.Setenv("REPO", c.root)
	env.Setenv("DEVCLUSTER", c.program)
	env.Setenv("USERPATH", c.bin+":"+c.state+"/sw/bin:/usr/local/bin:/usr/bin:/bin")
	env.Setenv("STORE", c.store)
	env.Setenv("NODE_STORE", c.nodeStore)
	env.Setenv("HELPER", c.helper)
	if err := chownTree(env.WorkDir, user1); err != nil {
		return err
	}
	env.Defer(func() {
		if err := c.healthy(); err != nil {
			env.T().Fatal("after the story: ", err)
		}
	})
	return nil
}

func (c *cluster) condition(cond string) (bool, error) {
	switch cond {
	case "aarch64":
		return c.aarch64, nil
	case "images":
		return c.delivery == image.Image, nil
	case "container-tmpfs":
		return slices.Contains(strings.Fields(os.Getenv("HPCENV_TEST_START")), "--container-tmpfs"), nil
	case "autofs":
		known, err := os.ReadFile("/proc/filesystems")
		if err != nil {
			return false, err
		}
		if !strings.Contains(string(known), "\tautofs\n") {
			fmt.Fprintln(os.Stderr, "NO AUTOFS: this kernel has none; what is mounted when it is looked at was not tried")
			return false, nil
		}
		return true, nil
	case "local":
		return c.local, nil
	case "bwrap", "git", "mpicc":
		return c.command("sh", "-c", "command -v "+cond).Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// healthy asserts what must hold after every story: no node drained or down, no
// job left, no process of the users left.
func (c *cluster) healthy() error {
	err := poll(30*time.Second, "jobs to leave the queue", func() (bool, error) {
		out, err := c.command("squeue", "-h", "-o", "%i %T").Output()
		return len(out) == 0, err
	})
	if err != nil {
		return errors.Join(err, c.cancelAll())
	}
	// "planned" is the backfill scheduler's thought of a moment ago.
	var busy string
	err = poll(20*time.Second, "all nodes to be idle", func() (bool, error) {
		out, err := c.command("sinfo", "-h", "-N", "-o", "%N %T %E").Output()
		if err != nil {
			return false, fmt.Errorf("sinfo: %w", err)
		}
		busy = ""
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if f := strings.Fields(line); len(f) < 2 || f[1] != "idle" {
				busy = line
			}
		}
		return busy == "", nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, busy)
	}
	return c.noProcesses()
}

// cancelAll ends what a story has left in the queue, since the stories to come would fail
// of it, too. The error says what it was.
func (c *cluster) cancelAll() error {
	left, err := c.command("squeue", "-h", "-o", "%i %T %j on %N: %r").Output()
	if err != nil {
		return fmt.Errorf("squeue: %w", err)
	}
	said := fmt.Errorf("jobs that were left, now cancelled:\n%s", left)
	for line := range strings.Lines(string(left)) {
		id, _, _ := strings.Cut(line, " ")
		if out, err := c.command("scancel", id).CombinedOutput(); err != nil {
			said = errors.Join(said, fmt.Errorf("scancel %s: %w: %s", id, err, out))
		}
	}
	return said
}
