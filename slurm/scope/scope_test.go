package scope

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// site is the cluster of these tests: gpu has a100 and h100 nodes, cpu has slow ones,
// arm has two, mixed some of each; main is the default.
func site() *Cluster {
	c := &Cluster{Name: "site", Partitions: []queries.Partition{
		{Name: "arm"}, {Name: "cpu"}, {Name: "gpu"}, {Name: "long", Alternate: "mixed"}, {Name: "main", Default: true}, {Name: "mixed"},
	}}
	add := func(list, gres string, features, partitions string) {
		names, err := hostlist.Expand(list)
		if err != nil {
			panic(err)
		}
		for _, n := range names {
			c.Nodes = append(c.Nodes, queries.Node{Name: n, Gres: gres, Features: strings.Split(features, ","), Partitions: strings.Split(partitions, ",")})
		}
	}
	add("g[1-2]", "gpu:a100:4(S:0,1)", "x86_64,a100,ib", "gpu,mixed")
	add("g[3-4]", "gpu:a100:4(S:0-1)", "x86_64,a100,ib", "gpu")
	add("g[5-6]", "gpu:h100:2,nvme:1", "x86_64,h100,ib", "gpu")
	add("c[1-2]", "", "x86_64,ib", "cpu,main,mixed,long")
	add("c[3-4]", "", "x86_64,slow", "cpu,main")
	add("a1", "gpu:gh200:1", "aarch64,gh200", "arm,mixed")
	add("a2", "gpu:gh200:1", "aarch64,gh200", "arm")
	c.Nodes = append(c.Nodes, queries.Node{Name: "login1"})
	return c
}

const every = "a[1-2],c[1-4],g[1-6]"

// lookup is one question and its answer: nodes, "~" before them for an inexact one,
// and the words that must be among the reasons.
type lookup struct {
	command string // words separated by blanks
	env     []string
	want    string
	why     string
}

func (l lookup) ask(t *testing.T, dir string, component int) *Scope {
	t.Helper()
	words := strings.Fields(l.command)
	return Of(Submission{Program: words[0], Args: words, Env: l.env, Dir: dir, Component: component}, site())
}

func (l lookup) check(t *testing.T, s *Scope) {
	t.Helper()
	got := hostlist.Compress(s.Nodes)
	if !s.Exact {
		got = "~" + got
	}
	if got != l.want || s.Exact != (len(s.Why) == 0) || !strings.Contains(strings.Join(s.Why, "\n"), l.why) {
		t.Errorf("%q %q: %s %q, want %s %q", l.command, l.env, got, s.Why, l.want, l.why)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhereAJobCanLand(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain", "#!/bin/sh\n")
	write(t, dir, "gpu", "#!/bin/sh\n#SBATCH -p gpu\n\n# text\n#SBATCH --constraint='a100|h100' # why\n#SBATCH --gr\\es=gpu:h100:2\nsrun x\n#SBATCH -p cpu\n")
	write(t, dir, "nodes", "# all\ng1,g2*4\ng3 # third\n")
	write(t, dir, "pbs", "#!/bin/sh\n#PBS -q gpu\n")
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, l := range []lookup{
		{command: "sbatch plain", want: "c[1-4]"},
		{command: "sbatch -p gpu plain -p cpu", want: "g[1-6]"},
		{command: "sbatch -pgpu,arm plain", want: "a[1-2],g[1-6]"},
		{command: "sbatch --part=gpu -C a100 plain", want: "g[1-4]"},
		{command: "sbatch -HN2-3 --partition gpu -- plain", want: "g[1-6]"},
		{command: "sbatch gpu", want: "g[5-6]"},
		{command: "sbatch -C a100 --gres=gpu:1 gpu", want: "g[1-4]"},
		{command: "sbatch gpu", env: []string{"SBATCH_CONSTRAINT=a100", "SBATCH_GRES=none"}, want: "g[1-4]"},
		{command: "sbatch -p cpu plain", env: []string{"SBATCH_PARTITION=gpu", "SALLOC_PARTITION=arm"}, want: "c[1-4]"},
		{command: "sbatch plain", env: []string{"SBATCH_PARTITION=gpu"}, want: "g[1-6]"},
		{command: "sbatch -p long plain", want: "a1,c[1-2],g[1-2]"},
		{command: "sbatch -p nosuch plain", want: "~" + every, why: `the partition "nosuch" is not known`},
		{command: "sbatch -p gpu -x g[2-4] plain", want: "g[1,5-6]"},
		{command: "sbatch -p gpu -w g[1-2] plain", want: "g[1-2]"},
		{command: "sbatch -p gpu -w g1 -N2 plain", want: "g[1-6]"},
		{command: "sbatch -p gpu -w g[1-2] -n4 plain", want: "~g[1-6]", why: "release of Slurm"},
		{command: "sbatch -p gpu -w g[1-2] -n4 -N2 plain", want: "g[1-2]"},
		{command: "sbatch -p gpu -w g1 --gpus=8 plain", want: "~g[1-6]", why: "release of Slurm"},
		{command: "sbatch -p gpu -F nodes -N3 plain", want: "g[1-3]"},
		{command: "sbatch -p gpu -w ./nodes plain", want: "g[1-3]"},
		{command: "sbatch -p gpu -w ./none plain", want: "~g[1-6]", why: "--nodelist=./none"},
		{command: "sbatch -p gpu -x g[1 plain", want: "~g[1-6]", why: "--exclude"},
		{command: "sbatch -p gpu --gpus-per-node=h100:2 plain", want: "g[5-6]"},
		{command: "sbatch -p gpu --gpus-per-task=3 plain", want: "g[1-4]"},
		{command: "sbatch -p gpu,cpu -G8 plain", want: "g[1-6]"},
		{command: "sbatch -p gpu,arm -G a100:8,gh200:1 plain", want: "a[1-2],g[1-4]"},
		{command: "sbatch -p gpu --gres=gpu:a100:2,nvme plain", want: "~" + every, why: "no node"},
		{command: "sbatch -p mixed -C ib&a100 plain", want: "g[1-2]"},
		{command: "sbatch -p mixed -C ib,a100 plain", want: "g[1-2]"},
		{command: "sbatch -p mixed -C gh200|ib&a100 plain", want: "g[1-2]"},
		{command: "sbatch -p mixed -C gh200|(ib&a100) plain", want: "a1,g[1-2]"},
		{command: "sbatch -p mixed -C [gh200|a100] plain", want: "a1,g[1-2]"},
		{command: "sbatch -p mixed -C x86_64&[ib|a100] plain", want: "c[1-2],g[1-2]"},
		{command: "sbatch -p gpu -N2 -C a100*2 plain", want: "g[1-4]"},
		{command: "sbatch -p gpu -N4 -C [a100*2&h100*2] plain", want: "~g[1-6]", why: "binds a number"},
		{command: "sbatch -p gpu -N3 -C a100*2 plain", want: "~g[1-6]", why: "binds a number"},
		{command: "sbatch -p gpu -C a100&( plain", want: "~g[1-6]", why: "not understood"},
		{command: "sbatch -p gpu -C a100 --prefer=h100 plain", want: "g[1-6]"},
		{command: "sbatch -p gpu --prefer=h100 plain", want: "g[1-6]"},
		{command: "sbatch -p gpu", want: "~g[1-6]", why: "standard input"},
		{command: "sbatch -p gpu -C a100", want: "~g[1-6]", why: "standard input"},
		{command: "sbatch -C a100", want: "~" + every, why: "standard input"},
		{command: "sbatch -p gpu d", want: "~g[1-6]", why: "cannot be read"},
		{command: "sbatch -p gpu pbs", want: "~g[1-6]", why: "another batch system"},
		{command: "sbatch pbs", want: "~" + every, why: "another batch system"},
		{command: "sbatch --ignore-pbs pbs", want: "c[1-4]"},
		{command: "sbatch --wrap=hostname -p arm", want: "a[1-2]"},
		{command: "sbatch -M site -p arm plain", want: "a[1-2]"},
		{command: "sbatch -M other -p arm plain", want: "~" + every, why: "another cluster"},
		{command: "sbatch -p arm plain", env: []string{"SLURM_CLUSTERS=site,b"}, want: "~" + every, why: "another cluster"},
		{command: "sbatch --reservation=r plain", want: "~" + every, why: "reservation"},
		{command: "sbatch --reservation=r -p arm plain", want: "a[1-2]"},
		// Another plugin's option may take the next word, or not.
		{command: "sbatch --container-image=x -p gpu plain", want: "g[1-6]"},
		{command: "sbatch --container-image plain -p gpu plain", want: "~c[1-4],g[1-6]", why: "two ways"},
		{command: "sbatch --container-image x -p gpu plain", want: "g[1-6]"},
		{command: "sbatch --foo -p gpu plain", want: "~g[1-6]", why: "two ways"},
		{command: "sbatch --foo plain", want: "~" + every},
		{command: "sbatch -p gpu --foo --bar plain", want: "~g[1-6]"},
		{command: "sbatch --tres=x plain", want: "~" + every, why: "may stand for"},
		{command: "sbatch -@ plain", want: "~" + every, why: "-@ is not known"},
		{command: "salloc -p gpu : -p cpu bash", want: "g[1-6]"},
		{command: "salloc", want: "c[1-4]"},
		{command: "salloc -I -pcpu", want: "c[1-4]"},
		{command: "srun -p gpu -l hostname -p cpu", want: "g[1-6]"},
		{command: "srun -W 3 hostname", env: []string{"SLURM_PARTITION=arm"}, want: "a[1-2]"},
		{command: "sbatch -W plain", want: "c[1-4]"},
		{command: "srun hostname", env: []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=g[2-3]"}, want: "g[2-3]"},
		{command: "srun --jobid=8 hostname", env: []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=g[2-3]"}, want: "~" + every, why: "job 8"},
		{command: "sbatch plain", env: []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=g[2-3]", "SLURM_NTASKS=3"}, want: "c[1-4]"},
		{command: "srun -Z -w g1 hostname", want: "~" + every, why: "no-allocate"},
		{command: "scontrol x", want: "~" + every, why: "is none of"},
	} {
		l.check(t, l.ask(t, dir, 0))
	}
}

func TestComponents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "het", "#!/bin/sh\n#SBATCH -p gpu\n#SBATCH hetjob\n#SBATCH -p cpu\n#SBATCH packjob -C slow\n#SBATCH HETJOB\n")
	write(t, dir, "plain", "#!/bin/sh\n")
	for i, want := range []string{"g[1-6]", "c[1-4]", "c[3-4]", "c[1-4]"} {
		l := lookup{command: "sbatch het", want: want}
		l.check(t, l.ask(t, dir, i))
	}
	for i, want := range []string{"g[1-6]", "a[1-2]", "a[1-2]"} {
		l := lookup{command: "sbatch -p gpu : -p arm het", want: want}
		if i == 2 {
			l.want = "~" + every // arm has no slow node
		}
		l.check(t, l.ask(t, dir, i))
	}
	for i, want := range []string{"~g1", "~a[1-2]", "~c[1-4]"} {
		for _, command := range []string{"sbatch -p gpu -w g1 : -p arm : -p cpu plain", "salloc -p gpu -w g1 : -p arm : -p cpu", "srun -p gpu -w g1 a -x : -p arm b : -p cpu c"} {
			l := lookup{command: command, want: want, why: "other components"}
			l.check(t, l.ask(t, dir, i))
		}
	}
	// What Slurm does not reset between components.
	l := lookup{command: "sbatch -M other : -p arm plain", want: "~" + every, why: "another cluster"}
	l.check(t, l.ask(t, dir, 1))
	l = lookup{command: "sbatch -p gpu -C a100 : --prefer=h100 plain", want: "~g[1-6]", why: "another component's --prefer"}
	l.check(t, l.ask(t, dir, 0))
	l = lookup{command: "sbatch -p arm : -M other plain", want: "~" + every, why: "another cluster"}
	l.check(t, l.ask(t, dir, 0))
	l = lookup{command: "sbatch --export-file=f : -p arm plain", want: "~" + every, why: "--export-file"}
	l.check(t, l.ask(t, dir, 1))
}

func TestGPUsAndSize(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain", "#!/bin/sh\n")
	for command, want := range map[string][3]bool{
		"sbatch plain":                            {},
		"sbatch":                                  {false, true, true},
		"sbatch --gres=gpu plain":                 {true},
		"sbatch --gres=nvme:1 -p gpu plain":       {},
		"sbatch --gpus-per-node=0 plain":          {},
		"sbatch -G1 plain":                        {true, false, false},
		"sbatch -G h100:1 plain":                  {true, false, false},
		"sbatch -G1 -n2 plain":                    {true, false, true},
		"sbatch -G2 plain":                        {true, false, true},
		"sbatch -G a100:1,h100:1 plain":           {true, false, true},
		"sbatch -p cpu -G1 plain":                 {true, false, false},
		"sbatch -G1":                              {true, false, true},
		"sbatch -G1 -N1 plain":                    {true, false, false},
		"sbatch --ntasks-per-gpu=1 -n2 plain":     {true, false, true},
		"sbatch -n2 plain":                        {false, false, true},
		"sbatch -n2 -N1 plain":                    {},
		"sbatch -N2 plain":                        {false, false, true},
		"sbatch -N1-1 -n8 plain":                  {},
		"sbatch -N1,4 plain":                      {false, false, true},
		"sbatch -p gpu -w g[1-2] plain":           {false, false, true},
		"sbatch -p gpu -w g1 plain":               {},
		"sbatch --ntasks-per-node=4 plain":        {false, false, true},
		"sbatch -N1 --ntasks-per-node=4 plain":    {},
		"sbatch -N 1k plain":                      {false, false, true},
		"sbatch -p gpu -N2 -w g1 plain":           {false, false, true},
		"sbatch -p gpu -C h100 -x g5 -N2 plain":   {},
		"sbatch --tres-per-task=gres/gpu=1 plain": {true, false, true},
	} {
		s := lookup{command: command}.ask(t, dir, 0)
		if got := [3]bool{s.GPUs, s.GPUsUnknown, s.MultiNode}; got != want {
			t.Errorf("%s: GPUs, unknown, many nodes: %v, want %v", command, got, want)
		}
	}
}

func TestPlugins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain", "#!/bin/sh\n")
	record := parseRecord("component sbatch\npartition=cpu\nend\ncomponent sbatch\npartition=arm\nnodes=1-2\nntasks=1\nend\n", "sbatch")
	for _, test := range []struct {
		plugins  queries.Plugins
		enforced bool
		record   Record
		args     string
		want     string
		why      string
	}{
		{plugins: queries.Plugins{JobSubmit: []string{"lua"}}, args: "-p arm", want: "~" + every, why: "job_submit plugin lua"},
		{plugins: queries.Plugins{JobSubmit: []string{"lua"}}, enforced: true, args: "-p arm", want: "a[1-2]"},
		{plugins: queries.Plugins{JobSubmit: []string{"lua", "odd"}}, enforced: true, args: "-p arm", want: "~" + every, why: "odd"},
		{plugins: queries.Plugins{JobSubmit: []string{"throttle"}}, args: "-p arm", want: "a[1-2]"},
		{plugins: queries.Plugins{JobSubmit: []string{"all_partitions"}}, args: "-p arm", want: "a[1-2]"},
		{plugins: queries.Plugins{JobSubmit: []string{"all_partitions"}}, want: "~" + every, why: "chooses the partition"},
		{plugins: queries.Plugins{CliFilter: []string{"lua"}}, args: "-p arm", want: "~" + every, why: "cli_filter plugin lua"},
		{plugins: queries.Plugins{CliFilter: []string{"lua"}}, args: "-p gpu", record: record, want: "a[1-2]"},
		{plugins: queries.Plugins{CliFilter: []string{"lua", "odd"}}, record: record, want: "~" + every, why: "odd"},
		{plugins: queries.Plugins{CliFilter: []string{"user_defaults"}}, args: "-p arm", want: "~a[1-2]", why: "user_defaults"},
		{plugins: queries.Plugins{CliFilter: []string{"user_defaults"}}, want: "~" + every, why: "user_defaults"},
		{plugins: queries.Plugins{CliFilter: []string{"syslog"}}, args: "-p arm", want: "a[1-2]"},
	} {
		c := site()
		c.Plugins, c.Enforced = test.plugins, test.enforced
		l := lookup{command: "sbatch " + test.args + " plain", want: test.want, why: test.why}
		l.check(t, Of(Submission{Program: "sbatch", Args: strings.Fields(l.command), Dir: dir, Recorded: test.record}, c))
	}
	c := site()
	c.Federated = true
	l := lookup{command: "sbatch -p arm plain", want: "~" + every, why: "federation"}
	if s := Of(Submission{Program: "sbatch", Args: strings.Fields(l.command), Dir: dir}, c); !s.OtherCluster {
		t.Error("a federation has no other cluster")
	} else {
		l.check(t, s)
	}
	for _, bad := range []string{"", "component sbatch\npartition=cpu\n", "component srun\nend\n", "component sbatch\nx\nend\n", "component sbatch\npartition=%zz\nend\n"} {
		if parseRecord(bad, "sbatch") != nil {
			t.Errorf("%q is taken for a record", bad)
		}
	}
}

// TestMovable: partitions that a moved job may get.
func TestMovable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain", "#!/bin/sh\n")
	for command, want := range map[string]string{
		"sbatch plain":                     "1;constraint=;asked=;partitions=cpu%2Cmain",
		"sbatch -p mixed plain":            "1;constraint=;asked=mixed;partitions=long%2Cmixed",
		"sbatch -p mixed -C ib plain":      "1;constraint=ib;asked=mixed;partitions=cpu%2Clong%2Cmain%2Cmixed",
		"sbatch -p gpu -C ib&a100 plain":   "1;constraint=ib&a100;asked=gpu;partitions=gpu%2Cmixed",
		"sbatch -p gpu -w g1 plain":        "1;constraint=;asked=gpu;partitions=gpu%2Cmixed",
		"sbatch -p nosuch plain":           "1",
		"sbatch -M other -p gpu -N1 plain": "1",
	} {
		if got := (lookup{command: command}).ask(t, dir, 0).Carry(""); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if got := (lookup{command: "sbatch -p nosuch plain"}).ask(t, dir, 0).Carry("a100|h100"); got != "1;constraint=;features=a100%7Ch100" {
		t.Errorf("features alone: %q", got)
	}
}
