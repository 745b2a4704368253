//go:build cluster

package scopetest

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
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
type cluster struct {
	t                     *testing.T
	root, state, dir, bin string
}

func start(t *testing.T) *cluster {
	t.Helper()
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
	c := &cluster{t: t, root: root, state: state, dir: filepath.Join(state, "work")}
	c.bin = filepath.Join(c.dir, "scopetest")
	c.devcluster("stop", "--purge")
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	c.write(conf, slurmConf)
	args := []string{"start", "--nodes", "1", "--without-plugin", "--without-daemon", "--extra-conf", conf}
	if suite := os.Getenv("HPCENV_TEST_ROOT"); suite != "" {
		args = append(args, "--root", suite)
	}
	t.Cleanup(func() { c.devcluster("stop", "--purge") })
	c.devcluster(args...)
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.write(c.bin, c.read(self))
	c.write(filepath.Join(c.dir, "probe.c"), c.read("testdata/probe.c"))
	c.exec("gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-o", "probe.so", "probe.c")
	c.write(filepath.Join(state, "etc", "plugstack.conf"), "required "+c.dir+"/probe.so "+c.bin+"\n")
	c.exec("scontrol", "update", "nodename=n1", "state=drain", "reason=jobs are only looked at")
	c.exec("scontrol", "create", "reservation", "reservationname=r1", "partition=cpu", "nodes=c01", "users=root", "starttime=now", "duration=infinite", "flags=ignore_jobs")
	return c
}

func (c *cluster) read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func (c *cluster) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) devcluster(args ...string) {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.root, "contrib/devcluster/devcluster"), args...)
	cmd.Env = append(os.Environ(), "HPCENV_DEVCLUSTER="+c.state)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("devcluster %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// exec runs a program in the cluster, in its work directory.
func (c *cluster) exec(args ...string) {
	c.t.Helper()
	c.devcluster(append([]string{"exec", "--cwd", c.dir, "--"}, args...)...)
}

// drive runs a plan in the cluster.
func (c *cluster) drive(p plan) report {
	c.t.Helper()
	in, out := filepath.Join(c.dir, "plan.json"), filepath.Join(c.dir, "report.json")
	if err := writeJSON(in, p); err != nil {
		c.t.Fatal(err)
	}
	c.exec(c.bin, "drive", in, out)
	var r report
	if err := readJSON(out, &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func seed(t *testing.T) *rand.Rand {
	n := rand.Int63()
	if text := os.Getenv("SCOPETEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (SCOPETEST_SEED=%d repeats it)", n, n)
	return rand.New(rand.NewSource(n))
}

// tally counts components by how good the answer was.
type tally struct{ exact, widened, narrow int }

func (a tally) String() string {
	return fmt.Sprintf("%d exact, %d widened, %d too narrow", a.exact, a.widened, a.narrow)
}

// brief are the fields of a record that decide.
func brief(record map[string]string) string {
	var out []string
	for _, key := range []string{
		"JobId", "Partition", "ReqNodeList", "ExcNodeList", "NumNodes", "NumTasks", "Features", "Prefer", "TresPerNode", "TresPerTask", "TresPerJob", "Reservation",
	} {
		if record[key] != "" {
			out = append(out, key+"="+record[key])
		}
	}
	return strings.Join(out, " ")
}

// judge compares answers with truths, by kind of submission.
func judge(t *testing.T, r report) (all tally, byKind map[string]*tally) {
	t.Helper()
	byKind = map[string]*tally{}
	for _, o := range r.Outcomes {
		for i, c := range o.Components {
			k := byKind[o.Submission.Kind]
			if k == nil {
				k = &tally{}
				byKind[o.Submission.Kind] = k
			}
			missing := slices.DeleteFunc(slices.Clone(c.Truth), func(n string) bool { return slices.Contains(c.Scope.Nodes, n) })
			switch {
			case len(missing) > 0:
				k.narrow++
				all.narrow++
				t.Errorf("too narrow: %s\ncomponent %d can land on %s, the answer is %s %q; Slurm: %s", o.Submission, i,
					hostlist.Compress(c.Truth), hostlist.Compress(c.Scope.Nodes), c.Scope.Why, brief(c.Record))
			case len(c.Truth) == len(c.Scope.Nodes):
				k.exact++
				all.exact++
			default:
				k.widened++
				all.widened++
				if c.Scope.Exact {
					t.Errorf("called exact, but it is not: %s\ncomponent %d can land on %s, the answer is %s; Slurm: %s", o.Submission, i,
						hostlist.Compress(c.Truth), hostlist.Compress(c.Scope.Nodes), brief(c.Record))
				}
			}
		}
	}
	for _, kind := range []string{"script", "wrap", "heredoc", "het", "hetscript", "salloc", "srun", "moved"} {
		if k := byKind[kind]; k != nil {
			t.Logf("%-10s %s", kind, k)
		}
	}
	t.Logf("%-10s %s", "all", all)
	return all, byKind
}
