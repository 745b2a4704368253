//go:build cluster

package clustertest

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// gpu-driver NAME DIR: the library of one of gputest's drivers in DIR, and the files
// of a node that it serves in DIR/node; hang and crash are those of eight H100 where
// one call does that.
func (c *cluster) cmdGPUDriver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gpu-driver NAME DIR")
	}
	drivers := gputest.Drivers()
	for name, do := range map[string]int{"hang": gputest.Hang, "crash": gputest.Crash} {
		d := drivers["8xh100"]
		d.Rules = append(d.Rules, gputest.Rule{Call: "nvmlDeviceGetUUID", GPU: 5, Do: do})
		drivers[name] = d
	}
	d, ok := drivers[args[0]]
	if !ok {
		ts.Fatalf("there is no driver %q", args[0])
	}
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	_, err := gputest.Compile(dir, "gcc", d)
	ts.Check(err)
	ts.Check(gputest.WriteNode(filepath.Join(dir, "node"), d))
}
