//go:build linux

package cmd

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// treeCmd: tree NAME DIR unpacks a recorded node (package factstest).
func treeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree NAME DIR")
	}
	ts.Check(factstest.Unpack(args[0], ts.MkAbs(args[1])))
}
