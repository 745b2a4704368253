//go:build cluster

package clustertest

import (
	"errors"
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
		out, err := c.command("sinfo", "-h", "-N", "-p", "all", "-n", args[0], "-o", "%T").Output()
		last = strings.TrimSpace(string(out))
		return last == args[1], err
	})
	if err != nil {
		ts.Fatalf("%v: it is %q", err, last)
	}
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
	out, err := c.command("sinfo", "-h", "-N", "-p", "all", "-n", args[0], "-o", "%E").Output()
	ts.Check(err)
	if text := strings.TrimSpace(string(out)); !regexp.MustCompile(args[1]).MatchString(text) {
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
