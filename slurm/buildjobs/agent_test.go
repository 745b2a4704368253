package buildjobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/sandbox"
	"github.com/hpcenv/hpcenv/slurm/buildjobs"
)

// The test binary stands for the agent (role "agent") and for hpcenv on a node (role
// "node").
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch os.Getenv("HPCENV_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "agent":
		a := &buildjobs.Agent{
			Spool: os.Args[1], Sbatch: os.Args[2], Program: os.Args[3], Store: filepath.Join(filepath.Dir(os.Args[1]), "store"), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			Arguments: map[string][]string{linkscript.HostPlatform(): {"--constraint=it"}},
		}
		err = a.Run(ctx)
	case "node":
		err = linkscript.Serve(ctx, sandbox.New(), os.Args[3], os.TempDir(), strings.TrimPrefix(os.Args[2], "--store="))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sbatch runs the job at once, here, and notes how it was called.
const sbatch = `#!/bin/sh
{ echo "$@"; env; } >> "$(dirname "$0")/calls"
for a; do case $a in --output=*) out=${a#--output=};; esac; done
[ ! -e "$(dirname "$0")/down" ] || { echo "slurmctld is down" >&2; exit 1; }
exec sh -s > "$out" 2>&1
`

// A task goes from the daemon to the build account, as a job, and its answer back; the
// two accounts share nothing but the spool.
func TestAgent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT ROOT: the build account cannot be played, this test was not run")
	}
	if err := linkscript.NewLocal(sandbox.New()).CanRun(linkscript.HostPlatform()); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	const account = 64997
	top, err := os.MkdirTemp("/run", "hpcenv-agent-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	spool, bin := filepath.Join(top, "spool"), filepath.Join(top, "bin")
	tree, scratch := filepath.Join(top, "tree"), filepath.Join(top, "scratch")
	for _, dir := range []string{spool, bin, tree, filepath.Join(tree, "bin"), scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	node := filepath.Join(bin, "hpcenv")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Chmod(top, 0o755))
	check(os.Chown(spool, 0, account))
	check(os.Chmod(spool, 0o750|os.ModeSetgid))
	check(os.Chown(bin, account, account))
	check(os.WriteFile(filepath.Join(bin, "test"), binary, 0o755))
	check(os.WriteFile(filepath.Join(bin, "sbatch"), []byte(sbatch), 0o755))
	check(os.WriteFile(node, []byte("#!/bin/sh\nHPCENV_TEST_ROLE=node exec "+bin+"/test \"$@\"\n"), 0o755))
	check(os.WriteFile(filepath.Join(tree, "bin/.x-post-link.sh"), []byte("echo made > $PREFIX/new; [ $PKG_NAME = x ]"), 0o444))

	agent := exec.Command(filepath.Join(bin, "test"), spool, filepath.Join(bin, "sbatch"), node)
	agent.Env = []string{"HPCENV_TEST_ROLE=agent", "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "SECRET_OF_AGENT=1"}
	agent.Dir = "/"
	agent.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account, Gid: account}}
	var log strings.Builder
	agent.Stderr = &log
	check(agent.Start())
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := agent.Wait(); err != nil {
			t.Errorf("the agent: %v", err)
		}
	}
	t.Cleanup(stop)

	s := &linkscript.Spool{Dir: spool, Platforms: []string{linkscript.HostPlatform(), "linux-ppc64le"}, Wait: 20 * time.Second}
	task := &linkscript.Task{
		Script: linkscript.Script{Package: "x", Version: "1", Kind: linkscript.PostLink, Path: "bin/.x-post-link.sh"}, Prefix: "/opt/hpcenv/e/x",
		Platform: linkscript.HostPlatform(), Tree: tree, Scratch: scratch,
		Limits: linkscript.Limits{Time: 20 * time.Second, Memory: 1 << 30, Processes: 64, Bytes: 1 << 20, Inodes: 100},
	}
	o, err := s.Run(context.Background(), task)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if o.Failed != "" || len(o.Changes) != 1 || o.Changes[0].Path != "new" || o.Changes[0].Size != 5 {
		t.Errorf("%+v", o)
	}
	calls, err := os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil || !strings.Contains(string(calls), "--wait") || !strings.Contains(string(calls), "--constraint=it") || !strings.Contains(string(calls), "--export=ALL") || strings.Contains(string(calls), "SECRET_OF_AGENT") {
		t.Errorf("sbatch was called with %s, %v", calls, err)
	}
	// A site's build goes the same way, to nodes that its site chooses, and no further.
	siteOf := func(sbatch ...string) *linkscript.Task {
		site := *task
		site.Script.Kind = linkscript.SiteBuild
		site.Tree, site.Source, site.Scratch = t.TempDir(), t.TempDir(), t.TempDir()
		site.Site = &linkscript.Site{Environment: "env", EnvPrefix: "/opt/hpcenv/e/env", Argv: []string{"sh", "-c", "cp $PREFIX/share/it $OVERLAY/it"}, Sbatch: sbatch}
		return &site
	}
	env := filepath.Join(top, "store", "trees", linkscript.HostPlatform(), "env")
	check(os.MkdirAll(filepath.Join(env, "conda-meta"), 0o755))
	check(os.Mkdir(filepath.Join(env, "share"), 0o755))
	check(os.WriteFile(filepath.Join(env, "conda-meta", "history"), nil, 0o444))
	check(os.WriteFile(filepath.Join(env, "share", "it"), []byte("of the environment"), 0o444))
	if o, err := s.Run(context.Background(), siteOf("--nodelist=n1")); err != nil || o.Failed != "" || len(o.Changes) != 1 || o.Changes[0].Path != "it" || o.Changes[0].Size != 18 {
		t.Errorf("site build: %+v %v", o, err)
	}
	calls, err = os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil || !strings.Contains(string(calls), "--constraint=it --nodelist=n1") || !strings.Contains(string(calls), "--job-name=hpcenv-site-build") {
		t.Errorf("sbatch was called with %s, %v", calls, err)
	}
	if _, err := s.Run(context.Background(), siteOf("--output=/etc/x")); !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "--output=/etc/x") {
		t.Errorf("a site build with other arguments: %v", err)
	}
	task.Platform = "linux-ppc64le"
	if _, err := s.Run(context.Background(), task); !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "configured for linux-ppc64le") {
		t.Errorf("another platform: %v", err)
	}
	task.Platform = linkscript.HostPlatform()
	check(os.WriteFile(filepath.Join(bin, "down"), nil, 0o644))
	if _, err := s.Run(context.Background(), task); !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "slurmctld is down") {
		t.Errorf("Slurm is down: %v", err)
	}
	stop()
	if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
		t.Errorf("left in the spool: %v %v", left, err)
	}
}
