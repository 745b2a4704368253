//go:build cluster

package clustertest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// cluster is the running development cluster.
type cluster struct {
	state, store, nodeStore, prefixRoot, helper string
	aarch64                                     bool
	// env is what a login shell of the cluster has set.
	env  []string
	root string // of the repository
}

func (c *cluster) devcluster(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.root, "contrib/devcluster/devcluster"), args...)
	cmd.Env = append(os.Environ(), "HPCENV_DEV_STATE="+c.state)
	cmd.Stderr = os.Stderr
	return cmd
}

// command runs a Slurm command as root with the cluster's configuration.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), c.env...)
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
	return "", fmt.Errorf("no go.mod above the test")
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

// exports reads lines of the form `export NAME=VALUE`.
func exports(out []byte) []string {
	var env []string
	for _, line := range bytes.Split(out, []byte("\n")) {
		s := strings.TrimPrefix(strings.TrimSpace(string(line)), "export ")
		if name, value, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(name, " #") {
			env = append(env, name+"="+strings.Trim(value, `'"`))
		}
	}
	return env
}
