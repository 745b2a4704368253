package queries

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake writes a scontrol that prints a recorded answer.
func fake(t *testing.T, script string) Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scontrol")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Client{Scontrol: path}
}

// local is a node of the recordings: they were made on one machine.
func local(n Node) Node {
	n.Addr, n.Host, n.Partitions = "127.0.0.1", "localhost", []string{"p"}
	return n
}

// feature is a node of the recordings with features.
func feature(state, name, gres string, features, partitions []string) Node {
	return Node{
		Name: name, Features: features, Gres: gres, Partitions: partitions, Addr: "127.0.0.1", Host: name,
		TRES: "cpu=16,mem=64G,billing=16", State: state,
	}
}

func TestNodesOfRecordedOutput(t *testing.T) {
	n1 := local(Node{Name: "n1", Arch: "x86_64", Platform: "linux-64", TRES: "cpu=2,mem=1M,billing=2", State: "IDLE"})
	n2 := local(Node{Name: "n2", TRES: "cpu=2,mem=1M,billing=2", State: "DOWN"})
	gh01 := local(Node{Name: "gh01", Arch: "aarch64", Platform: "linux-aarch64", TRES: "cpu=144,mem=1M,billing=144", State: "IDLE"})
	gpu001 := local(Node{Name: "gpu001", Arch: "x86_64", Platform: "linux-64", Gres: "gpu:4", TRES: "cpu=2,mem=1M,billing=2", State: "IDLE"})
	features := func(state string) []Node {
		return []Node{
			feature(state, "arm01", "gpu:gh200:1", []string{"aarch64", "gh200"}, []string{"all", "arm", "mixed"}),
			feature(state, "c01", "", []string{"ib", "x86_64"}, []string{"all", "closed", "cpu", "mixed"}),
			feature(state, "g01", "gpu:a100:4", []string{"a100", "ib", "x86_64"}, []string{"all", "gpu", "mixed"}),
			feature(state, "g05", "gpu:h100:2", []string{"h100", "ib", "x86_64"}, []string{"all", "gpu", "mixed"}),
		}
	}
	for file, want := range map[string][]Node{
		"nodes-22.05.txt":    {n1, n2},
		"nodes-24.11.txt":    {n1, n2},
		"features-22.05.txt": features("DOWN+NOT_RESPONDING"),
		"features-24.11.txt": features("DOWN"),
		// Made up from the recorded form: other architectures, misleading text.
		"nodes-mixed.txt": {gh01, gpu001, {Name: "ppc1", Arch: "ppc64le", State: "IDLE"}},
		"nodes-text.txt": {{
			Name: "n1", Features: []string{"a", "b"}, Gres: "gpu:a100:4(S:0-1),fpga:1", State: "MIXED+DRAIN", Partitions: []string{"p"}, TRES: "cpu=2",
		}},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := fake(t, `[ "$*" = "--all show node --oneliner" ] && cat `+recorded(t, file)).Nodes(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func recorded(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPartitionsOfRecordedOutput(t *testing.T) {
	want := []Partition{
		{Name: "closed", Nodes: "c[01-06]", Hidden: true, AllowGroups: []string{"root"}, State: "UP"},
		{Name: "gpu", Nodes: "g[01-06]", State: "UP"},
		{Name: "main", Nodes: "n1", Default: true, State: "UP"},
		{Name: "mixed", Nodes: "arm01,c[01-02],g[01-02,05]", State: "UP"},
	}
	for _, file := range []string{"partitions-22.05.txt", "partitions-24.11.txt"} {
		got, err := fake(t, `[ "$*" = "--all show partition --oneliner" ] && cat `+recorded(t, file)).Partitions(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
	ctx := context.Background()
	line := "PartitionName=p AllowGroups=a,b DenyAccounts=x AllowQos=q Default=NO Nodes=(null) RootOnly=YES State=DRAIN"
	got, err := fake(t, "echo '"+line+"'").Partitions(ctx)
	odd := Partition{Name: "p", AllowGroups: []string{"a", "b"}, DenyAccounts: []string{"x"}, AllowQOS: []string{"q"}, RootOnly: true, State: "DRAIN"}
	if d := cmp.Diff([]Partition{odd}, got); err != nil || d != "" {
		t.Error(err, d)
	}
	for _, out := range []string{"hello", "PartitionName=p\nPartitionName=p", "PartitionName=p Nodes=n[1-"} {
		if _, err := fake(t, `printf '`+out+`\n'`).Partitions(ctx); !errors.Is(err, ErrSlurm) {
			t.Errorf("%q: %v", out, err)
		}
	}
	if got, err := fake(t, "echo 'No partitions in the system'").Partitions(ctx); err != nil || len(got) > 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}

func TestPlugins(t *testing.T) {
	ctx := context.Background()
	for text, want := range map[string]Plugins{
		"cat " + recorded(t, "config-22.05.txt"): {},
		"printf 'CliFilterPlugins = cli_filter/lua,none\nJobSubmitPlugins = job_submit/lua,all_partitions\n'": {
			JobSubmit: []string{"all_partitions", "lua"}, CliFilter: []string{"lua"},
		},
	} {
		got, err := fake(t, text).Plugins(ctx)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v, %s", text, err, d)
		}
	}
	if _, err := fake(t, "echo JobSubmitPlugins = x").Plugins(ctx); !errors.Is(err, ErrSlurm) {
		t.Errorf("half an answer: %v", err)
	}
}

func TestClusterName(t *testing.T) {
	c := fake(t, `printf 'Configuration data as of now\nClusterName             = rec\nX = ClusterName = no\n'`)
	if got, err := c.ClusterName(context.Background()); err != nil || got != "rec" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	ctx := context.Background()
	if _, err := (Client{Scontrol: filepath.Join(t.TempDir(), "none")}).Nodes(ctx); !errors.Is(err, ErrNoSlurm) {
		t.Errorf("no scontrol: %v", err)
	}
	_, err := fake(t, "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1").Nodes(ctx)
	if !errors.Is(err, ErrSlurm) {
		t.Errorf("controller away: %v", err)
	}
	if _, err := fake(t, "echo hello").Nodes(ctx); !errors.Is(err, ErrSlurm) {
		t.Errorf("not understood: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := fake(t, "sleep 30 & wait").Nodes(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrSlurm) {
		t.Errorf("hanging: %v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("a hanging scontrol held us for %v", d)
	}
}

func FuzzParseNodes(f *testing.F) {
	f.Add([]byte("NodeName=n1 Arch=x86_64 CoresPerSocket=1\n"))
	f.Add([]byte("No nodes in the system\n"))
	f.Add([]byte("NodeName=n1 AvailableFeatures=a,b Gres=gpu:1 OS=x State=no RealMemory=1 State=IDLE Partitions=p Reason=Partitions=q"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := ParseNodes(data)
		if err != nil && !errors.Is(err, ErrSlurm) {
			t.Fatalf("error without class: %v", err)
		}
		for i, n := range nodes {
			if n.Name == "" || i > 0 && nodes[i-1].Name >= n.Name {
				t.Fatalf("not sorted and distinct: %v", nodes)
			}
			if n.Platform != Platform(n.Arch) {
				t.Fatalf("platform of %v", n)
			}
		}
	})
}
