package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

func node(f facts.Facts) []byte {
	f.Version = facts.Version
	b, err := json.Marshal(&f)
	if err != nil {
		panic(err)
	}
	return b
}

func gpuNode(driver string) []byte {
	return node(facts.Facts{
		Machine: "x86_64", Platform: "linux-64", Glibc: "2.34", PageSize: 4096, Kernel: "5.14.0",
		Networks: []facts.Network{{Kind: facts.InfiniBand, Device: "mlx5_0", Active: true}},
		GPU:      &facts.GPU{Vendor: "nvidia", Driver: driver, CUDA: facts.CUDAOf(driver), Models: []facts.Model{{Name: "NVIDIA H100", Count: 4}}},
	})
}

const threeNodes = `NodeName=a Arch=x86_64 Gres=gpu:h100:4 NodeAddr=10.0.0.1 NodeHostName=a State=IDLE Partitions=p
NodeName=b Arch=x86_64 Gres=gpu:h100:4 NodeAddr=10.0.0.2 NodeHostName=b State=IDLE Partitions=p
NodeName=c Arch=aarch64 Gres=(null) NodeAddr=10.0.0.3 NodeHostName=c State=IDLE Partitions=q
`

func TestWhatNodesTellMakesKinds(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, threeNodes)
	before, err := k.Refresh(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Kinds) != 2 || !before.Kinds[0].Assumed || !before.Kinds[1].Assumed {
		t.Errorf("nobody told anything: %+v", before.Kinds)
	}
	if err := k.Publish(ctx); err != nil { // nothing is new
		t.Fatal(err)
	}
	for name, addr := range map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"} {
		if err := k.NodeFacts(ctx, name, netip.MustParseAddr(addr), gpuNode("535.104.05")); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	snap, _, _, err := snapshot.Read(k.Store.Root())
	if err != nil {
		t.Fatal(err)
	}
	all, kinds, err := snap.Nodes()
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	a := kinds["a"]
	if a != kinds["b"] || a.Assumed || !a.GPU || a.Driver != "535.104.05" || a.Networks[0] != facts.InfiniBand {
		t.Errorf("kind of a: %+v", a)
	}
	if !kinds["c"].Assumed || kinds["c"].Subdir != "linux-aarch64" {
		t.Errorf("kind of c: %+v", kinds["c"])
	}

	// A daemon that starts anew knows what nodes told the one before.
	again := &Keeper{Store: k.Store, Slurm: k.Slurm}
	if err := again.NodeFacts(ctx, "b", netip.MustParseAddr("10.0.0.2"), gpuNode("550.54.15")); err != nil {
		t.Fatal(err)
	}
	if err := again.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	if snap, _, _, err = snapshot.Read(k.Store.Root()); err != nil {
		t.Fatal(err)
	}
	if _, kinds, err = snap.Nodes(); err != nil || kinds["a"].Driver != "535.104.05" || kinds["b"].Driver != "550.54.15" || len(snap.Kinds) != 3 {
		t.Errorf("after a restart: %+v %v", snap, err)
	}
	// Slurm says that a is another machine now: its old facts do not count.
	write(t, nodes, strings.Replace(threeNodes, "NodeName=a Arch=x86_64", "NodeName=a Arch=aarch64", 1))
	if snap, err = again.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if _, kinds, err = snap.Nodes(); err != nil || !kinds["a"].Assumed || kinds["a"].Subdir != "linux-aarch64" {
		t.Errorf("a became another machine: %+v %v", kinds["a"], err)
	}
}

func TestRefusedFacts(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, threeNodes)
	good := gpuNode("535.104.05")
	for name, c := range map[string]struct {
		node, from string
		data       []byte
		want       string
	}{
		"another node's address": {"a", "10.0.0.2", good, "came from 10.0.0.2"},
		"unknown node":           {"x", "10.0.0.1", good, `no node "x"`},
		"path as a name":         {"../a", "10.0.0.1", good, "no node"},
		"cut off":                {"a", "10.0.0.1", good[:len(good)/2], "JSON"},
		"of another version":     {"a", "10.0.0.1", []byte(`{"version":99}`), "version 99"},
		"nothing":                {"a", "10.0.0.1", nil, "JSON"},
	} {
		err := k.NodeFacts(ctx, c.node, netip.MustParseAddr(c.from), c.data)
		if !errors.Is(err, ErrReport) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := k.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.ReadReports(k.Store.Root()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

// The stated limit of design 9: 10,000 nodes of 40 kinds in less than 200 kB.
func TestTenThousandNodes(t *testing.T) {
	var nodes []queries.Node
	told := map[string]*facts.Facts{}
	var kinds []*facts.Facts
	for i := range 40 {
		f := new(facts.Facts)
		if err := json.Unmarshal(gpuNode(fmt.Sprintf("535.%d.05", 100+i)), f); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, f)
	}
	for i := range 10_000 {
		name := fmt.Sprintf("node%05d", i)
		// Kinds in runs of 125 nodes, as racks are bought.
		told[name] = kinds[i/125%40]
		nodes = append(nodes, queries.Node{
			Name: name, Arch: "x86_64", Platform: "linux-64", Features: []string{"h100", "ib", "rack" + fmt.Sprint(i/125)}, Gres: "gpu:h100:4(S:0-1)",
			Partitions: []string{"batch", "debug", fmt.Sprintf("p%d", i/1000)},
		})
	}
	data, err := json.Marshal(Build("big", nodes, nil, told))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 200_000 {
		t.Errorf("a snapshot of 10,000 nodes has %d bytes", len(data))
	}
	t.Logf("%d bytes", len(data))
}

func TestUnreadableReports(t *testing.T) {
	k, nodes := keeper(t)
	write(t, nodes, threeNodes)
	dir := filepath.Join(k.Store.Root(), "inventory")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, snapshot.ReportsName), "{")
	if _, err := k.Refresh(context.Background()); err == nil || !strings.Contains(err.Error(), snapshot.ReportsName) {
		t.Errorf("damaged reports: %v", err)
	}
}

// Nodes of a cloud come and go under ever new names: what they told goes some time after
// them, and does not keep new ones out.
func TestReportsOfNodesThatAreGone(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, threeNodes)
	tell := func(name, addr string) {
		t.Helper()
		if err := k.NodeFacts(ctx, name, netip.MustParseAddr(addr), gpuNode("535.104.05")); err != nil {
			t.Fatal(err)
		}
		if err := k.Publish(ctx); err != nil {
			t.Fatal(err)
		}
	}
	told := func() string {
		t.Helper()
		r, err := snapshot.ReadReports(k.Store.Root())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(r.Nodes)), " ")
	}
	tell("a", "10.0.0.1")
	tell("b", "10.0.0.2")
	_, rest, _ := strings.Cut(threeNodes, "\n")
	write(t, nodes, rest)
	if _, err := k.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	tell("c", "10.0.0.3")
	if got := told(); got != "a b c" {
		t.Errorf("a node that is left out for a moment: %s", got)
	}
	r := k.reports.file.Nodes["a"]
	r.At = time.Now().Add(-forgetAfter).Unix()
	k.reports.file.Nodes["a"] = r
	tell("c", "10.0.0.3")
	if got := told(); got != "b c" {
		t.Errorf("a month later: %s", got)
	}
	for i := range maxNodes {
		k.reports.file.Nodes[fmt.Sprintf("cloud-%d", i)] = snapshot.Report{Facts: r.Facts, At: time.Now().Unix()}
	}
	write(t, nodes, rest+"NodeName=d Arch=x86_64 NodeAddr=10.0.0.4 NodeHostName=d State=IDLE Partitions=p\n")
	if _, err := k.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	tell("d", "10.0.0.4")
	if got := told(); got != "b c d" {
		t.Errorf("full: %.100s", got)
	}
}

// A node that never registered has no architecture yet: it is taken for what its
// neighbours are, where they are all one.
func TestNodesWithoutAnArchitecture(t *testing.T) {
	node := func(name, arch string, partitions ...string) queries.Node {
		return queries.Node{Name: name, Arch: arch, Platform: queries.Platform(arch), Partitions: partitions}
	}
	for name, c := range map[string]struct {
		nodes []queries.Node
		want  string
	}{
		"its partition":         {[]queries.Node{node("new", "", "p"), node("a", "x86_64", "p"), node("b", "aarch64", "q")}, "linux-64"},
		"the cluster":           {[]queries.Node{node("new", "", "cloud"), node("a", "aarch64", "p"), node("b", "aarch64", "q")}, "linux-aarch64"},
		"unlike neighbours":     {[]queries.Node{node("new", "", "p"), node("a", "x86_64", "p"), node("b", "aarch64", "p")}, ""},
		"none":                  {[]queries.Node{node("new", "", "p")}, ""},
		"a machine of its kind": {[]queries.Node{node("new", "ppc64le", "p"), node("a", "x86_64", "p")}, ""},
	} {
		s := Build("c", c.nodes, nil, nil)
		_, kinds, err := s.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		if k := kinds["new"]; !k.Assumed || k.Subdir != c.want {
			t.Errorf("%s: %+v, want %q", name, k, c.want)
		}
		if c.nodes[0].Arch == "" && s.Complete() {
			t.Errorf("%s: it counts as told", name)
		}
	}
}

// What a node was told is taken is in the store: a daemon that ends that moment has lost
// nothing, since the node will not tell it again. What the store cannot keep is not taken.
func TestWhatIsTakenIsKept(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, threeNodes)
	if err := k.NodeFacts(ctx, "a", netip.MustParseAddr("10.0.0.1"), gpuNode("535.104.05")); err != nil {
		t.Fatal(err)
	}
	again := &Keeper{Store: k.Store, Slurm: k.Slurm}
	snap, err := again.Refresh(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, kinds, err := snap.Nodes(); err != nil || kinds["a"].Assumed {
		t.Errorf("after the end of a daemon: %+v, %v", kinds["a"], err)
	}

	// Many at once: all are kept.
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "NodeName=m%d Arch=x86_64 NodeAddr=10.0.1.%d NodeHostName=m%d State=IDLE Partitions=p\n", i, i, i)
	}
	write(t, nodes, lines.String())
	many := &Keeper{Store: k.Store, Slurm: k.Slurm}
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			if err := many.NodeFacts(ctx, fmt.Sprintf("m%d", i), netip.MustParseAddr(fmt.Sprintf("10.0.1.%d", i)), gpuNode("550.54.15")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	r, err := snapshot.ReadReports(k.Store.Root())
	if err != nil || len(r.Nodes) != 101 || len(r.Facts) != 2 {
		t.Errorf("%d nodes, %d facts, %v", len(r.Nodes), len(r.Facts), err)
	}

	file := filepath.Join(k.Store.Root(), "inventory", snapshot.ReportsName)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := many.NodeFacts(ctx, "m1", netip.MustParseAddr("10.0.1.1"), gpuNode("560.1")); !errors.Is(err, cache.ErrStore) {
		t.Errorf("a store that keeps nothing: %v", err)
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := many.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err = snapshot.ReadReports(k.Store.Root()); err != nil || len(r.Facts) != 3 {
		t.Errorf("when it can again: %d facts, %v", len(r.Facts), err)
	}
}
