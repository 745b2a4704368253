//go:build cluster

package clustertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ofLocal are the plug-in's arguments about copies on the nodes.
var ofLocal = regexp.MustCompile(` local(_\w+)?=\S+`)

// local NODE ARGUMENT…: the plug-in's line on a node has these arguments about copies, and
// no others, until the story ends.
func (c *cluster) cmdLocal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: local NODE ARGUMENT…")
	}
	path := filepath.Join(c.state, "nodes", args[0], "etc/plugstack.conf")
	before, err := os.ReadFile(path)
	ts.Check(err)
	line := strings.TrimRight(ofLocal.ReplaceAllString(string(before), ""), "\n")
	for _, arg := range args[1:] {
		if !ofLocal.MatchString(" " + arg) {
			ts.Fatalf("%s is not about copies", arg)
		}
		line += " " + arg
	}
	ts.Defer(func() { ts.Check(os.WriteFile(path, before, 0o644)) })
	ts.Check(os.WriteFile(path, []byte(line+"\n"), 0o644))
}
