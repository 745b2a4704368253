//go:build cluster

package clustertest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
)

// cluster is the running development cluster with the demo's channel behind an
// HTTP server.
type cluster struct {
	root    string // of the repository
	program string // contrib/devcluster/devcluster
	// state is the cluster's one directory, bin the test's programs in it.
	state, bin, store, nodeStore, prefixRoot, helper string
	projects                                         string // the demo's lock files
	server                                           *exec.Cmd
	aarch64                                          bool
	suite                                            string // "" or the Debian release the cluster runs from
	delivery                                         image.Delivery
	local                                            bool // nodes keep copies of images
	squash                                           bool // the nodes\' store refuses root
	env                                              []string
	mixed                                            mixedServer
	// trees are what the nodes are between the stories that run now (mixedTrees); nil =
	// themselves. gpuNodes have a driver of cmdGPUNode's.
	trees    map[string]string
	gpuNodes map[string]bool
}

// startCluster makes everything a story needs. On an error the cluster, if not
// nil, must be stopped.
func startCluster() (*cluster, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	state := os.Getenv("HPCENV_TEST_STATE")
	if state == "" {
		state = "/var/lib/hpcenv-ct" // short: a user's own store lies below it
	}
	c := &cluster{
		root: root, program: filepath.Join(root, "contrib/devcluster/devcluster"), state: state,
		bin: filepath.Join(state, "work", "bin"), store: filepath.Join(state, "store"),
		nodeStore: "/srv/hpcenv/store", prefixRoot: "/opt/hpcenv/e",
		helper:   filepath.Join(state, "sw/bin/hpcenv"),
		projects: filepath.Join(state, "work", "projects"),
		suite:    os.Getenv("HPCENV_TEST_ROOT"),
		aarch64:  os.Getenv("HPCENV_TEST_AARCH64") != "no",
		delivery: cmp.Or(image.Delivery(os.Getenv("HPCENV_TEST_DELIVERY")), image.ClusterDefault),
		local:    os.Getenv("HPCENV_TEST_LOCAL") == "yes",
		squash:   os.Getenv("HPCENV_TEST_SQUASH") == "yes",
	}
	if err := c.devcluster("stop", "--purge").Run(); err != nil {
		return nil, fmt.Errorf("stopping an earlier cluster: %w", err)
	}
	if err := c.endProcesses(); err != nil {
		return nil, err
	}
	base, err := c.serve()
	if err != nil {
		return c, err
	}
	conf := filepath.Join(os.TempDir(), "hpcenv-clustertest.yaml")
	text := "fetch:\n  allow: [\"127.0.0.1\"]\ndelivery: " + string(c.delivery) + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return c, err
	}
	args := []string{"start", "--nodes", "3", "--daemon-conf", conf}
	if c.aarch64 {
		args = append(args, "--aarch64")
		// For the stories of unlike nodes (mixedTrees).
		for _, p := range []string{"ib:n1", "ss:n2", "eth:n3", "gh:a1", "mixed:n[1-3],a1"} {
			args = append(args, "--partition", p)
		}
		args = append(args, "--gres", "a1:gpu:4")
	}
	for _, g := range []string{"n1:gpu:8", "n2:gpu:8"} {
		args = append(args, "--gres", g)
	}
	if c.squash {
		// On every node the store refuses root, as an NFS export with root_squash does.
		if err := installPrograms(c.storeBin(), []string{"root-squash"}); err != nil {
			return c, err
		}
		args = append(args, "--node-store-cmd", `exec `+c.storeBin()+`/root-squash "$STORE_SOURCE" "$STORE_TARGET"`)
	}
	if c.local {
		args = append(args, "--local")
	}
	if c.suite != "" {
		args = append(args, "--root", c.suite)
	}
	// E.g. --container-tmpfs or --mount host: the stories hold there too.
	args = append(args, strings.Fields(os.Getenv("HPCENV_TEST_START"))...)
	if err := c.devcluster(args...).Run(); err != nil {
		return c, fmt.Errorf("starting the cluster: %w", err)
	}
	if err := installPrograms(c.bin, slices.Collect(maps.Keys(programs))); err != nil {
		return c, err
	}
	if _, err := c.channelTool("project", c.projects, base).Output(); err != nil {
		return c, fmt.Errorf("the demo's locks: %w", err)
	}
	return c, nil
}

func (c *cluster) stop() error {
	var err error
	if c.server != nil {
		err = errors.Join(c.server.Process.Kill(), ignoreExit(c.server.Wait()))
	}
	return errors.Join(err, c.devcluster("stop", "--purge").Run(), os.RemoveAll(c.storeBin()))
}

// storeBin has what serves the nodes' store: it must be there before the cluster is.
func (c *cluster) storeBin() string { return "/tmp/" + filepath.Base(c.state) + "-store" }

// buildDir is the daemon's build_dir where it makes images.
func (c *cluster) buildDir() string { return filepath.Join(c.state, "daemon/build") }

// serve starts the channel's HTTP server and returns its base URL.
func (c *cluster) serve() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", err
	}
	c.server = c.channelTool("serve", "--addr", addr)
	c.server.Stdout = os.Stderr
	if err := c.server.Start(); err != nil {
		return "", err
	}
	return "http://" + addr, poll(10*time.Minute, "the channel's server", func() (bool, error) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
}

// channelTool runs contrib/demo/channel.sh, which makes the channel first if it
// is not made yet.
func (c *cluster) channelTool(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.root, "contrib/demo/channel.sh"), args...)
	cmd.Dir = c.root
	cmd.Stderr = os.Stderr
	return cmd
}

func (c *cluster) devcluster(args ...string) *exec.Cmd {
	cmd := exec.Command(c.program, args...)
	cmd.Env = append(os.Environ(), "HPCENV_DEVCLUSTER="+c.state)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd
}

// command runs a program as root on the cluster's submit host.
func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := c.devcluster(append([]string{"exec", "--"}, args...)...)
	cmd.Stdout, cmd.Stderr = nil, nil
	return cmd
}

// onNode runs a program as root on a node.
func (c *cluster) onNode(node string, args ...string) *exec.Cmd {
	cmd := c.devcluster(append([]string{"exec", "--node", node, "--"}, args...)...)
	cmd.Stdout, cmd.Stderr = nil, nil
	return cmd
}

func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no go.mod above the test")
}

func chownTree(dir, account string) error {
	u, err := user.Lookup(account)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// noProcesses waits until no process of the users is left that belongs to this
// cluster (its environment names the cluster's directory).
func (c *cluster) noProcesses() error {
	var left map[string]string
	err := poll(10*time.Second, "the users' processes to end", func() (bool, error) {
		var err error
		left, err = c.processes()
		return err == nil && len(left) == 0, err
	})
	if err != nil {
		return fmt.Errorf("%w; left: %q", err, left)
	}
	return nil
}

// processes of the users that belong to this cluster: number → command line.
func (c *cluster) processes() (map[string]string, error) {
	out, err := exec.Command("pgrep", "-u", user1+","+user2).Output()
	if len(out) == 0 {
		return nil, nil // pgrep exits 1 when it finds none
	}
	if err != nil {
		return nil, fmt.Errorf("pgrep: %w", err)
	}
	found := map[string]string{}
	for _, pid := range strings.Fields(string(out)) {
		environ, err := os.ReadFile("/proc/" + pid + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(c.state+"/")) && !bytes.Contains(environ, []byte(c.state+"\x00")) {
			continue // it has ended, or is not ours: a longer name is another cluster's
		}
		if cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil {
			found[pid] = string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" ")))
		}
	}
	return found, nil
}

// endProcesses ends what an earlier run that was killed has left.
func (c *cluster) endProcesses() error {
	left, err := c.processes()
	for pid := range left {
		if out, killErr := exec.Command("kill", "-9", pid).CombinedOutput(); killErr != nil {
			err = errors.Join(err, fmt.Errorf("kill %s: %s: %w", pid, out, killErr))
		}
	}
	return err
}
