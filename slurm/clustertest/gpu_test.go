//go:build cluster

package clustertest

import "github.com/rogpeppe/go-internal/testscript"

// gpu-driver NAME DIR: the library of one of gputest's drivers in DIR, and the files
// of a node that it serves in DIR/node; hang and crash are those of eight H100 where
// one call does that.
func (c *cluster) cmdGPUDriver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gpu-driver NAME DIR")
	}
	ts.Check(c.compileDriver(args[0], ts.MkAbs(args[1])))
}
