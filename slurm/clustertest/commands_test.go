//go:build cluster

package clustertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// commands of the stories. Each ends the story when it fails.
func (c *cluster) commands(t *testing.T) map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"project":        c.cmdProject,
		"probes":         c.cmdProbes,
		"daemon":         c.cmdDaemon,
		"node":           c.cmdNode,
		"nothing-queued": c.cmdNothingQueued,
		"split":          cmdSplit,
		"switch-off":     c.cmdSwitchOff,
		"own-stores":     c.cmdOwnStores,
		"faulty":         c.cmdFaulty(t),
		"helper":         c.cmdHelper,
		"verbs":          cmdVerbs,
		"serve":          c.cmdServe,
		"storage":        c.cmdStorage,
		"private-tmp":    c.cmdPrivateTmp,
		"automounted":    c.cmdAutomounted,
		"power":          c.cmdPower,
		"cover":          c.cmdCover,
		"closed-project": c.cmdClosedProject(t),
		"build-account":  c.cmdBuildAccount(t),
		"site-builds":    c.cmdSiteBuilds(t),
		"mend":           c.cmdMend,
		"python-project": c.cmdPythonProject(t),
		"trace":          c.cmdTrace,
		"mixed-project":  c.cmdMixedProject(t),
		"facts":          c.cmdFacts,
		"floor-project":  c.cmdFloorProject(t),
		"realm-project":  c.cmdRealmProject(t),
		"page":           c.cmdPage,
		"loops":          c.cmdLoops,
		"servers":        c.cmdServers,
		"plugstack":      c.cmdPlugstack,
		"pyxis":          c.cmdPyxis,
		"local":          c.cmdLocal,
		"settings":       c.cmdSettings,
		"gpu-driver":     c.cmdGPUDriver,
		"facts-override": c.cmdFactsOverride,
		"smoke-project":  c.cmdSmokeProject(t),
		"module-project": c.cmdModuleProject(t),
		"gpu-node":       c.cmdGPUNode,
		"state":          c.cmdState,
		"reason":         c.cmdReason,
		"hook":           c.cmdHook,
		"site-conf":      c.cmdSiteConf,
		"aged":           c.cmdAged,
	}
}

// project NAME DIR: the demo's lock of that name (demo, v7, small, x86only),
// its manifest and the probe, in DIR, owned by the first user.
func (c *cluster) cmdProject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: project NAME DIR")
	}
	src := filepath.Join(c.projects, args[0])
	if args[0] == "demo" {
		src = c.projects
	}
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, path := range []string{filepath.Join(src, "pixi.lock"), filepath.Join(src, "pixi.toml"), filepath.Join(c.root, "contrib/demo/probe.py")} {
		b, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o644))
	}
	ts.Check(chownTree(dir, user1))
}

// probes [-lock FILE] [-env NAME] [-count N] [-nodes LIST] [-machines LIST] FILE:
// every line of FILE that a probe printed is what the lock's packages say.
func (c *cluster) cmdProbes(ts *testscript.TestScript, neg bool, args []string) {
	fs := flag.NewFlagSet("probes", flag.ContinueOnError)
	lock := fs.String("lock", "pixi.lock", "")
	env := fs.String("env", "default", "")
	store := fs.String("store", c.store, "")
	count := fs.Int("count", 0, "")
	nodes := fs.String("nodes", "", "")
	machines := fs.String("machines", "", "")
	ts.Check(fs.Parse(args))
	if neg || fs.NArg() != 1 || *count == 0 {
		ts.Fatalf("usage: probes -count N [flags] FILE")
	}
	data, err := os.ReadFile(ts.MkAbs(*lock))
	ts.Check(err)
	local := ""
	if c.delivery == image.Image && *store == c.store {
		local = c.buildDir()
	}
	want, err := expect(*store, local, c.prefixRoot, data, *env)
	ts.Check(err)
	text := ts.ReadFile(fs.Arg(0))
	var seenNodes, seenMachines []string
	found := 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var p probe
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			ts.Fatalf("%s: not a probe's line: %v\n%s", fs.Arg(0), err, line)
		}
		if err := want.check(p); err != nil {
			ts.Fatalf("%s: %v", fs.Arg(0), err)
		}
		found++
		seenNodes, seenMachines = append(seenNodes, p.Node), append(seenMachines, p.Machine)
	}
	if found != *count {
		ts.Fatalf("%s holds %d probes, want %d:\n%s", fs.Arg(0), found, *count, text)
	}
	same := func(what, want string, seen []string) {
		slices.Sort(seen)
		wanted := strings.Split(want, ",")
		slices.Sort(wanted)
		if got := slices.Compact(seen); want != "" && !slices.Equal(got, wanted) {
			ts.Fatalf("%s: %s %v, want %v", fs.Arg(0), what, got, wanted)
		}
	}
	same("nodes", *nodes, seenNodes)
	same("machines", *machines, seenMachines)
}

// daemon stop|start.
func (c *cluster) cmdDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: daemon stop|start")
	}
	ts.Check(c.devcluster("daemon", args[0]).Run())
	if args[0] == "stop" {
		ts.Defer(func() {
			// Harmless when the story started it again itself.
			if !c.daemonRuns() {
				ts.Check(c.devcluster("daemon", "start").Run())
			}
		})
	}
}

func (c *cluster) daemonRuns() bool {
	_, err := c.pid("hpcenvd")
	return err == nil
}

// node NODE COMMAND…: as root on a node.
func (c *cluster) cmdNode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: node NODE COMMAND…")
	}
	out, err := c.onNode(args[0], args[1:]...).CombinedOutput()
	ts.Logf("%s", out)
	if (err != nil) != neg {
		ts.Fatalf("on %s: %v: %v", args[0], args[1:], err)
	}
}

// nothing-queued: no job was created by what failed.
func (c *cluster) cmdNothingQueued(ts *testscript.TestScript, neg bool, args []string) {
	out, err := c.command("squeue", "-h", "-t", "PENDING,CONFIGURING,RUNNING").Output()
	ts.Check(err)
	if len(bytes.TrimSpace(out)) > 0 {
		ts.Fatalf("jobs are queued:\n%s", out)
	}
}

// split FILE REGEXP FILE…: the parts of a file between lines that match.
func cmdSplit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: split FILE REGEXP FILE…")
	}
	parts := regexp.MustCompile("(?m)"+args[1]+".*\n").Split(ts.ReadFile(args[0]), -1)
	if len(parts) != len(args)-2 {
		ts.Fatalf("%s has %d parts, want %d", args[0], len(parts), len(args)-2)
	}
	for i, p := range parts {
		ts.Check(os.WriteFile(ts.MkAbs(args[2+i]), []byte(p), 0o644))
	}
}

// switch-off NODE|-: writes the file that switches the plugin off on a node, or
// removes it again. It never outlives the story.
func (c *cluster) cmdSwitchOff(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] switch-off NODE")
	}
	on := func() error { return c.onNode(args[0], "rm", "-f", "/etc/hpcenv/off").Run() }
	if neg {
		ts.Check(on())
		return
	}
	ts.Check(c.onNode(args[0], "sh", "-c", "echo maintenance > /etc/hpcenv/off").Run())
	ts.Defer(func() { ts.Check(on()) })
}

// own-stores: the plugin knows no cluster store until the story ends, neither
// on the submit host nor on the nodes.
func (c *cluster) cmdOwnStores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: own-stores")
	}
	nodes, err := filepath.Glob(filepath.Join(c.state, "nodes/*/etc/plugstack.conf"))
	ts.Check(err)
	if len(nodes) == 0 {
		ts.Fatalf("no node has a plugstack.conf")
	}
	for _, path := range append(nodes, filepath.Join(c.state, "etc/plugstack.conf")) {
		b, err := os.ReadFile(path)
		ts.Check(err)
		without := regexp.MustCompile(` store=\S+`).ReplaceAll(b, nil)
		if bytes.Equal(b, without) {
			ts.Fatalf("%s names no store:\n%s", path, b)
		}
		ts.Defer(func() { ts.Check(os.WriteFile(path, b, 0o644)) })
		ts.Check(os.WriteFile(path, without, 0o644))
	}
}

// settings FILE: hpcenvd also has what FILE says, until the story ends. The command
// returns when it has published its inventory anew.
func (c *cluster) cmdSettings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: settings FILE")
	}
	more := filepath.Join(c.state, "etc/hpcenvd.more.yaml")
	before, err := os.ReadFile(more)
	ts.Check(err)
	restart := func(conf []byte) {
		ts.Check(c.devcluster("daemon", "stop").Run())
		ts.Check(os.WriteFile(more, conf, 0o644))
		started := time.Now()
		ts.Check(c.devcluster("daemon", "start").Run())
		ts.Check(poll(30*time.Second, "the daemon to publish its inventory", func() (bool, error) {
			_, _, at, err := snapshot.Read(c.store)
			return at.After(started), err
		}))
	}
	ts.Defer(func() { restart(before) }) // also where the daemon refuses the file
	restart(append(slices.Clone(before), ts.ReadFile(args[0])...))
}
