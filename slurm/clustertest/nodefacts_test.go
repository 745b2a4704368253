//go:build cluster

package clustertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// mixedTrees say what the nodes are in the stories of unlike nodes: trees below
// testdata/nodes.
var mixedTrees = map[string]string{
	"n1": "ib-gpu",   // InfiniBand, H100, driver 535
	"n2": "ss11-gpu", // Slingshot-11, A100, driver 535
	"n3": "eth",      // Ethernet, no GPU
	"a1": "gh-ss11",  // aarch64, Slingshot-11, GH200, driver 550
}

// facts NODE TREE: the node becomes what a tree below testdata/nodes says, and tells
// it; the command returns when the daemon has published it. When the story ends it
// is what it was.
func (c *cluster) cmdFacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: facts NODE TREE")
	}
	node := args[0]
	ts.Check(c.become(node, args[1]))
	ts.Defer(func() { ts.Check(c.become(node, c.tree(node))) })
}

// tree that a node is read from between stories; "" = it is itself.
func (c *cluster) tree(node string) string { return c.trees[node] }

// become makes a node read what it is from a tree; "" = from itself.
func (c *cluster) become(node, tree string) error {
	dir := filepath.Join(c.state, "nodes", node, "facts")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	root := "/"
	if tree != "" {
		text, err := os.ReadFile(filepath.Join("testdata/nodes", tree+".txt"))
		if err != nil {
			return err
		}
		if err := factstest.UnpackText(text, dir); err != nil {
			return fmt.Errorf("tree %s: %w", tree, err)
		}
		root = dir
	}
	if out, err := c.onNode(node, c.helper, "slurm-hook", "health", "--root", root, "--jitter", "0").CombinedOutput(); err != nil && exitCode(err) != api.ExitNoFit {
		return fmt.Errorf("%s tells what it is: %w: %s", node, err, out)
	}
	kept, err := c.onNode(node, "cat", "/run/hpcenv-node/"+facts.RecordFile).Output()
	if err != nil {
		return fmt.Errorf("what %s keeps of its facts: %w", node, err)
	}
	var record facts.Record
	if err := json.Unmarshal(kept, &record); err != nil {
		return err
	}
	want := selection.KindOf(record.Facts, nil)
	var last string
	err = poll(30*time.Second, "the daemon to publish what "+node+" is", func() (bool, error) {
		s, _, _, err := snapshot.Read(c.store)
		if err != nil {
			return false, err
		}
		_, kinds, err := s.Nodes()
		if err != nil || kinds[node] == nil {
			return false, err
		}
		last = kinds[node].Label
		return kinds[node].Digest == want.Digest, nil
	})
	if err != nil {
		return fmt.Errorf("%w: it is %q there, %q on the node", err, last, want.Label)
	}
	return nil
}

// exitCode of a program that failed; 0 = it did not run.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}
