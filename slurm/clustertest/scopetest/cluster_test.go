//go:build cluster

package scopetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nodes that are not there, and partitions of them. Node n1 is there, and drained.
const slurmConf = `GresTypes=gpu
NodeName=g[01-04] NodeAddr=127.0.0.1 Port=[30001-30004] CPUs=16 RealMemory=65536 Feature=x86_64,a100,ib Gres=gpu:a100:4 State=DOWN Reason="not there"
NodeName=g[05-06] NodeAddr=127.0.0.1 Port=[30005-30006] CPUs=16 RealMemory=65536 Feature=x86_64,h100,ib Gres=gpu:h100:2 State=DOWN Reason="not there"
NodeName=c[01-04] NodeAddr=127.0.0.1 Port=[30011-30014] CPUs=16 RealMemory=65536 Feature=x86_64,ib State=DOWN Reason="not there"
NodeName=c[05-06] NodeAddr=127.0.0.1 Port=[30015-30016] CPUs=16 RealMemory=65536 Feature=x86_64,slow State=DOWN Reason="not there"
NodeName=arm[01-02] NodeAddr=127.0.0.1 Port=[30021-30022] CPUs=16 RealMemory=65536 Feature=aarch64,gh200 Gres=gpu:gh200:1 State=DOWN Reason="not there"
PartitionName=gpu Nodes=g[01-06]
PartitionName=cpu Nodes=c[01-06]
PartitionName=arm Nodes=arm[01-02]
PartitionName=mixed Nodes=g[01-02],g05,c[01-02],arm01
PartitionName=closed Nodes=c[01-06] AllowGroups=root Hidden=YES
`

// cluster is a development cluster with the probe in its plugstack.conf.
type cluster struct{ root, state, dir, bin string }

// shared by the tests of this process.
var shared *cluster

func start(t *testing.T) *cluster {
	t.Helper()
	if shared != nil {
		return shared
	}
	if os.Geteuid() != 0 {
		t.Fatal("the development cluster needs root")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	state := os.Getenv("SCOPETEST_STATE")
	if state == "" {
		state = "/var/lib/hpcenv-scope"
	}
	c := &cluster{root: root, state: state, dir: filepath.Join(state, "work")}
	c.bin = filepath.Join(c.dir, "scopetest")
	shared = c
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	write(t, conf, slurmConf)
	args := []string{"start", "--nodes", "1", "--without-plugin", "--without-daemon", "--extra-conf", conf}
	if suite := os.Getenv("HPCENV_TEST_ROOT"); suite != "" {
		args = append(args, "--root", suite)
	}
	must(t, c.devcluster("stop", "--purge"))
	must(t, c.devcluster(args...))
	must(t, os.MkdirAll(c.dir, 0o755))
	self, err := os.Executable()
	must(t, err)
	write(t, c.bin, read(t, self))
	write(t, filepath.Join(c.dir, "probe.c"), read(t, "testdata/probe.c"))
	c.exec(t, "gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-o", "probe.so", "probe.c")
	write(t, filepath.Join(state, "etc", "plugstack.conf"), "required "+c.dir+"/probe.so "+c.bin+"\n")
	c.exec(t, "scontrol", "update", "nodename=n1", "state=drain", "reason=jobs are only looked at")
	c.exec(t, "scontrol", "create", "reservation", "reservationname=r1", "partition=cpu", "nodes=c01", "users=root", "starttime=now",
		"duration=infinite", "flags=ignore_jobs")
	return c
}

// plugins makes slurmctld, sbatch, salloc and srun run Lua scripts; "" = none.
func (c *cluster) plugins(t *testing.T, jobSubmit, cliFilter string) {
	t.Helper()
	etc := filepath.Join(c.state, "etc")
	conf := strings.Split(read(t, filepath.Join(etc, "slurm.conf")), "\n# plugins\n")[0] + "\n# plugins\n"
	if jobSubmit != "" {
		conf += "JobSubmitPlugins=lua\n"
		write(t, filepath.Join(etc, "job_submit.lua"), jobSubmit)
	}
	if cliFilter != "" {
		conf += "CliFilterPlugins=lua\n"
		write(t, filepath.Join(etc, "cli_filter.lua"), cliFilter)
	}
	write(t, filepath.Join(etc, "slurm.conf"), conf)
	must(t, c.devcluster("part", "stop", "slurmctld"))
	must(t, c.devcluster("part", "start", "slurmctld"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o755))
}

func (c *cluster) devcluster(args ...string) error {
	cmd := exec.Command(filepath.Join(c.root, "contrib/devcluster/devcluster"), args...)
	cmd.Env = append(os.Environ(), "HPCENV_DEVCLUSTER="+c.state)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devcluster %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// exec runs a program in the cluster, in its work directory.
func (c *cluster) exec(t *testing.T, args ...string) {
	t.Helper()
	must(t, c.devcluster(append([]string{"exec", "--cwd", c.dir, "--"}, args...)...))
}

// drive runs a plan in the cluster.
func (c *cluster) drive(t *testing.T, p plan) report {
	t.Helper()
	in, out := filepath.Join(c.dir, "plan.json"), filepath.Join(c.dir, "report.json")
	must(t, writeJSON(in, p))
	c.exec(t, c.bin, "drive", in, out)
	var r report
	must(t, readJSON(out, &r))
	return r
}
