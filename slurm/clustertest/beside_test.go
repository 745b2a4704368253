//go:build cluster

package clustertest

import (
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// plugstack returns a node's plugstack.conf.
func (c *cluster) plugstack(node string) string {
	return filepath.Join(c.state, "nodes", node, "etc/plugstack.conf")
}

// private-tmp NODE before|after step|task: another plugin's line stands before or after
// hpcenv's, which makes /tmp private to each step or task; until the story ends, or the
// command is given again.
func (c *cluster) cmdPrivateTmp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: private-tmp NODE before|after step|task")
	}
	lib := c.spankPlugin(ts, "privatetmp")
	line := "required " + lib + " " + args[2] + "\n"
	c.change(ts, c.plugstack(args[0]), func(text string) string {
		text = regexp.MustCompile(`(?m)^.*privatetmp\.so.*\n`).ReplaceAllString(text, "")
		if args[1] == "before" {
			return line + text
		}
		return text + line
	})
}

// automounted NODE: the node's mounts are shared, as hosts have them, and the store is
// where it is mounted when it is first looked at; until the story ends.
func (c *cluster) cmdAutomounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: automounted NODE")
	}
	node, at := args[0], "/srv/auto"
	ts.Check(c.onNode(node, "mount", "--make-rshared", "/").Run())
	ts.Defer(func() { ts.Check(c.onNode(node, "mount", "--make-rprivate", "/").Run()) })
	cmd := c.onNode(node, filepath.Join(c.bin, "automount"), filepath.Dir(c.nodeStore), at)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		ts.Check(stdin.Close())
		out, err := c.onNode(node, "umount", "--recursive", "--lazy", at).CombinedOutput()
		if err != nil {
			ts.Fatalf("%s: %v", out, err)
		}
		ts.Check(ignoreExit(cmd.Wait()))
	})
	ts.Check(poll(10*time.Second, "automount on "+node, func() (bool, error) {
		return c.onNode(node, "mountpoint", "-q", at).Run() == nil, nil
	}))
	c.change(ts, c.plugstack(node), func(text string) string {
		return regexp.MustCompile(` store=\S+`).ReplaceAllString(text, " store="+at+"/"+filepath.Base(c.nodeStore))
	})
}
