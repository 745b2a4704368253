//go:build cluster

package clustertest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// servers COUNT|kill: before long so many processes show images of this cluster; or those
// there are get killed.
func (c *cluster) cmdServers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: servers COUNT|kill")
	}
	if args[0] == "kill" {
		pids, err := c.servers()
		ts.Check(err)
		if len(pids) == 0 {
			ts.Fatalf("there are no servers")
		}
		for _, pid := range pids {
			ts.Check(syscall.Kill(pid, syscall.SIGKILL))
		}
		args[0] = "0"
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(poll(20*time.Second, args[0]+" servers", func() (bool, error) {
		pids, err := c.servers()
		return len(pids) == want, err
	}))
}

// servers are the processes whose descriptor 3 is one of the cluster's images, or a copy of
// one, and 4 is FUSE.
func (c *cluster) servers() (pids []int, err error) {
	var images []os.FileInfo
	for _, pattern := range []string{"store/images/*/*.sqfs", "nodes/*/copies/*.sqfs"} {
		paths, err := filepath.Glob(filepath.Join(c.state, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				if errors.Is(err, os.ErrNotExist) { // it was there a moment ago
					continue
				}
				return nil, err
			}
			images = append(images, info)
		}
	}
	dirs, err := filepath.Glob("/proc/[0-9]*/fd")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		fuse, err := os.Readlink(filepath.Join(dir, "4"))
		if err != nil || !strings.HasSuffix(fuse, "/dev/fuse") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, "3"))
		if err != nil {
			continue // it has ended
		}
		for _, image := range images {
			if os.SameFile(info, image) {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
				if err != nil {
					return nil, err
				}
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}
