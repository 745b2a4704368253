//go:build linux

package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/cmd/hpcenv/cli"
	"github.com/hpcenv/hpcenv/cmd/hpcenvd/serve"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/sandbox"
	"github.com/hpcenv/hpcenv/hooks/helper"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hpcenv": func() {
			if len(os.Args) > 1 && os.Args[1] == "spank" { // as in hpcenv's main
				os.Exit(helper.Main(os.Args[1:], helper.Deps{}))
			}
			os.Exit(cli.Main(os.Args[1:]))
		},
		"hpcenvd": func() { os.Exit(serve.Main(os.Args[1:])) },
	})
}

// TestStories runs one script per user story. Each has a channel of its own, a
// short directory $T with room for a store, a socket and a Slurm that answers
// from $T/nodes, and hpcenv and hpcenvd in PATH.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "sandbox":
				return sandbox.New().Available() == nil, nil
			case "munge":
				_, err := exec.LookPath("/usr/sbin/munged")
				return err == nil, nil
			case "mksquashfs":
				return image.NewTool("").Available(context.Background()) == nil, nil
			case "demo":
				return demo()
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error { return setup(t, env) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"lock": lockCmd, "channel": channelCmd, "exits": exitsCmd, "until": untilCmd, "hits": hitsCmd, "fill": fillCmd, "tree": treeCmd, "munged": mungedCmd, "crowd": crowdCmd,
		},
	})
}

// demo tells whether the demo channel is here; $DEMO makes its project.
func demo() (bool, error) {
	out, err := exec.Command(demoScript, "path").CombinedOutput()
	if err != nil && os.Getenv("HPCENV_REQUIRE_DEMO") != "" {
		return false, fmt.Errorf("demo channel: %w: %s", err, out)
	}
	return err == nil, nil
}

const demoScript = "../contrib/demo/channel.sh"

type channelKey struct{}

const nodesText = "NodeName=n1 Arch=x86_64 CPUTot=2\nNodeName=n2 Arch=aarch64 CPUTot=2\nNodeName=n3 CPUTot=2\n"

func setup(t *testing.T, env *testscript.Env) error {
	c := newChannel(t)
	env.Defer(c.close)
	env.Values[channelKey{}] = c
	env.Values[testKey{}] = t
	env.Values[crowdKey{}] = &crowd{}
	// A prefix has a limited length, and so has a socket's path.
	dir, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		return err
	}
	env.Defer(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	scontrol := "#!/bin/sh\ncase \"$*\" in\n*'show node'*) cat " + dir + "/nodes;;\n*'show partition'*) echo 'PartitionName=p Default=YES Nodes=ALL State=UP';;\n" +
		"*'show config'*) printf 'ClusterName = story\\nJobSubmitPlugins = (null)\\nCliFilterPlugins = (null)\\n';;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "bin", "scontrol"), []byte(scontrol), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "nodes"), []byte(nodesText), 0o644); err != nil {
		return err
	}
	script, err := filepath.Abs(demoScript)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"PORT": port,
		"DEMO": script,
		"T":    dir, "PATH": filepath.Join(dir, "bin") + ":" + env.Getenv("PATH"), "HOME": filepath.Join(dir, "home"), "TMPDIR": dir,
		"HPCENV_CONF": filepath.Join(dir, "hpcenv.conf"), "TZ": "UTC", "CHANNEL": c.host(),
		"HPCENVD_STORE": filepath.Join(dir, "d"), "HPCENVD_SOCKET": filepath.Join(dir, "sock"), "HPCENVD_FETCH_ALLOW": c.host(),
		"HPCENVD_ALLOW_ROOT": "true", "HPCENVD_BUILD_DIR": filepath.Join(dir, "build"),
	} {
		env.Setenv(k, v)
	}
	return os.Mkdir(filepath.Join(dir, "home"), 0o755)
}

func of(ts *testscript.TestScript) *channel { return ts.Value(channelKey{}).(*channel) }

// lockCmd: lock FILE [local=DIR] ENV=PACKAGE,… …
func lockCmd(ts *testscript.TestScript, _ bool, args []string) {
	local, envs := "", args[1:]
	if len(envs) > 0 && len(envs[0]) > 6 && envs[0][:6] == "local=" {
		local, envs = envs[0][6:], envs[1:]
	}
	text, err := of(ts).lock(envs, local)
	ts.Check(err)
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// channelCmd: channel open (slow packages go through) | channel close (nobody
// answers any more) | channel save DIR.
func channelCmd(ts *testscript.TestScript, _ bool, args []string) {
	switch args[0] {
	case "open":
		of(ts).release()
	case "close":
		of(ts).close()
	case "save":
		ts.Check(of(ts).save(ts.MkAbs(args[1])))
	default:
		ts.Fatalf("channel %s?", args[0])
	}
}

// exitsCmd: exits CODE COMMAND… runs it and demands this exit code.
func exitsCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// untilWithin bounds until: it costs time only where a story fails anyway, and 200 programs
// that start at once take long on a machine of two processors.
const untilWithin = 2 * time.Minute

// untilCmd: until COMMAND… runs it until it succeeds; until hit PACKAGE waits
// until somebody asked for it.
func untilCmd(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(untilWithin); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if args[0] == "hit" {
			if of(ts).fetched(args[1]) > 0 {
				return
			}
		} else if ts.Exec(args[0], args[1:]...) == nil {
			return
		}
	}
	ts.Fatalf("never: %v", args)
}

// hitsCmd: hits PACKAGE N demands how often its archives were asked for.
func hitsCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := of(ts).fetched(args[0]); got != want {
		ts.Fatalf("%s was asked for %d times, want %d", args[0], got, want)
	}
}

// freePort is a TCP port of this host that nothing listens to now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
