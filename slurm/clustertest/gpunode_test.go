//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// driverMounts are what a node with a GPU driver has of its own: the directories below
// which the driver shows itself, and the one in which its library is found.
const driverMounts = `
set -eu
from=$1 own=/run/hpcenv-test-driver
rm -rf "$own"
mkdir -p "$own/dev" "$own/devwork" "$own/lib" "$own/libwork"
mount -t tmpfs none /proc/driver
cp -r "$from/node/proc/driver/nvidia" /proc/driver/
for node in "$from"/node/dev/nvidia*; do
	mknod -m 666 "$own/dev/${node##*/}" c 1 3 # /dev/null stands for them
done
cp "$from/libnvidia-ml.so.1" "$own/lib/"
mount -t overlay -o "lowerdir=/usr/lib64,upperdir=$own/lib,workdir=$own/libwork" none /usr/lib64
mkdir -p "$own/shm" "$own/pts"
mount --bind /dev/shm "$own/shm"
mount --bind /dev/pts "$own/pts"
mount -t overlay -o "lowerdir=/dev,upperdir=$own/dev,workdir=$own/devwork" none /dev
mount --move "$own/shm" /dev/shm
mount --move "$own/pts" /dev/pts
`

const driverUnmounts = `
umount -l /dev || true
umount -l /usr/lib64 || true
umount -l /proc/driver || true
rm -rf /run/hpcenv-test-driver /run/hpcenv-node/gpu.json
`

// gpu-node [-stale] NODE NAME|none: the node gets the GPUs and the driver of one of
// gputest's tables (hang, crash as gpu-driver has them), where programs look for them,
// and the health check has been there; with -stale only before. With none they are taken
// away again, as they are when the story ends.
func (c *cluster) cmdGPUNode(ts *testscript.TestScript, neg bool, args []string) {
	stale := len(args) > 0 && args[0] == "-stale"
	if stale {
		args = args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gpu-node [-stale] NODE NAME|none")
	}
	node, name := args[0], args[1]
	had := c.gpuNodes[node]
	if had {
		ts.Check(c.script(node, driverUnmounts))
		c.gpuNodes[node] = false
	}
	if name != "none" {
		dir := ts.MkAbs("driver-" + name)
		if _, err := os.Stat(filepath.Join(dir, "libnvidia-ml.so.1")); err != nil {
			ts.Check(c.compileDriver(name, dir))
		}
		if c.gpuNodes == nil {
			c.gpuNodes = map[string]bool{}
		}
		c.gpuNodes[node] = true
		ts.Defer(func() {
			if c.gpuNodes[node] {
				ts.Check(c.script(node, driverUnmounts+"rm -f /run/hpcenv-node/drained.json\n"))
				c.gpuNodes[node] = false
				ts.Check(c.become(node, c.tree(node)))
			}
		})
		ts.Check(c.script(node, driverMounts, dir))
	}
	if !stale {
		ts.Check(c.become(node, ""))
	}
}

// compileDriver makes the library of one of gputest's drivers and a node's files in dir.
func (c *cluster) compileDriver(name, dir string) error {
	drivers := gputest.Drivers()
	for name, do := range map[string]int{"hang": gputest.Hang, "crash": gputest.Crash} {
		d := drivers["8xh100"]
		d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetUUID", GPU: 5, Do: do})
		drivers[name] = d
	}
	d, ok := drivers[name]
	if !ok {
		return fmt.Errorf("there is no driver %q", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := gputest.Compile(dir, "gcc", d); err != nil {
		return err
	}
	return gputest.WriteNode(filepath.Join(dir, "node"), d)
}

// script runs a shell script as root on a node.
func (c *cluster) script(node, text string, args ...string) error {
	out, err := c.onNode(node, append([]string{"bash", "-c", text, "script"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("on %s: %w: %s", node, err, strings.TrimSpace(string(out)))
	}
	return nil
}
