//go:build cluster

package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// state NODE STATE: Slurm says so of the node, now or in a moment.
func (c *cluster) cmdState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: state NODE STATE")
	}
	last := ""
	err := poll(45*time.Second, args[0]+" to be "+args[1], func() (bool, error) {
		var err error
		last, err = c.sinfo(args[0], "%T")
		return last == args[1], err
	})
	if err != nil {
		ts.Fatalf("%v: it is %q\n%s", err, last, c.whatSlurmSays(args[0]))
	}
}

// sinfo says what a node's field is. It asks for all nodes: asked for one alone (sinfo -n),
// slurmctld answers with the CPUs in use as they were when somebody last asked for all, so
// that a node is "mixed" for as long as nobody does (tried; _slurm_rpc_dump_node_single).
func (c *cluster) sinfo(node, field string) (string, error) {
	out, err := c.command("sinfo", "-h", "-N", "-p", "all", "-o", "%N "+field).Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if name, text, _ := strings.Cut(strings.TrimSpace(line), " "); name == node {
			return text, nil
		}
	}
	return "", fmt.Errorf("sinfo knows no node %s:\n%s", node, out)
}

// whatSlurmSays of a node and of all jobs, for the message of a story that fails.
func (c *cluster) whatSlurmSays(node string) string {
	var said strings.Builder
	for _, command := range [][]string{
		{"date", "+%T.%N"},
		{"squeue", "--all", "--states=all", "--sort=-i", "--format=%i %T %N reason %r began %S ended %e"},
		{"scontrol", "show", "node", node},
	} {
		out, err := c.command(command...).CombinedOutput()
		fmt.Fprintf(&said, "%s: %s\n", strings.Join(command, " "), bytes.TrimSpace(out))
		if err != nil {
			fmt.Fprintf(&said, "(%v)\n", err)
		}
	}
	return said.String()
}

// power off|on NODE: all that runs on the node ends at once; it boots. It is on when the
// story ends.
func (c *cluster) cmdPower(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "off" && args[0] != "on" {
		ts.Fatalf("usage: power off|on NODE")
	}
	if args[0] == "on" {
		ts.Check(c.devcluster("part", "start", args[1]).Run())
		return
	}
	ts.Check(c.devcluster("part", "stop", args[1]).Run())
	ts.Defer(func() {
		if _, err := c.pid(args[1]); err != nil {
			ts.Check(c.devcluster("part", "start", args[1]).Run())
		}
	})
}

// reason NODE REGEXP: why Slurm says that the node is in its state.
func (c *cluster) cmdReason(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reason NODE REGEXP")
	}
	text, err := c.sinfo(args[0], "%E")
	ts.Check(err)
	if !regexp.MustCompile(args[1]).MatchString(text) {
		ts.Fatalf("the reason of %s is %q", args[0], text)
	}
}

// hook NODE prolog|epilog NAME=VALUE: a line of the node's script, until the story ends.
func (c *cluster) cmdHook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: hook NODE prolog|epilog NAME=VALUE")
	}
	name, _, _ := strings.Cut(args[2], "=")
	c.change(ts, filepath.Join(c.state, "nodes", args[0], "sw/libexec", args[1]), func(text string) string {
		return regexp.MustCompile(`(?m)^`+name+`=.*$`).ReplaceAllLiteralString(text, args[2])
	})
}

// site-conf NODE LINE: the node's hpcenv.conf has the line, too, until the story ends.
func (c *cluster) cmdSiteConf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: site-conf NODE LINE")
	}
	path := filepath.Join(c.state, "nodes", args[0], "etc-hpcenv/hpcenv.conf")
	if args[0] == "login" {
		path = filepath.Join(c.state, "login/etc-hpcenv/hpcenv.conf")
	}
	c.change(ts, path, func(text string) string { return text + args[1] + "\n" })
}

// facts-override NODE JSON: the site's own word for what the node is (/etc/hpcenv), until
// the story ends; the command returns when the daemon has published it.
func (c *cluster) cmdFactsOverride(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: facts-override NODE JSON")
	}
	path := filepath.Join(c.state, "nodes", args[0], "etc-hpcenv/facts.json")
	ts.Check(os.WriteFile(path, []byte(args[1]+"\n"), 0o644))
	ts.Defer(func() {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			ts.Check(err) // given twice, it is removed twice
		}
		ts.Check(c.become(args[0], c.tree(args[0])))
	})
	ts.Check(c.become(args[0], c.tree(args[0])))
}

// change a file until the story ends.
func (c *cluster) change(ts *testscript.TestScript, path string, how func(string) string) {
	before, err := os.ReadFile(path)
	ts.Check(err)
	after := how(string(before))
	if after == string(before) {
		ts.Fatalf("%s stays what it is", path)
	}
	ts.Check(os.WriteFile(path, []byte(after), 0o644))
	ts.Defer(func() { ts.Check(os.WriteFile(path, before, 0o644)) })
}
