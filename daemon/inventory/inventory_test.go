package inventory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// keeper has a store and a scontrol that prints what is in the file nodes.
func keeper(t *testing.T) (k *Keeper, nodes string) {
	t.Helper()
	dir := t.TempDir()
	store, err := cache.Create(filepath.Join(dir, "s"), cache.Format{Platforms: []string{"linux-64"}, PrefixRoot: "/opt/e", OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	nodes = filepath.Join(dir, "nodes")
	script := `#!/bin/sh
case $* in
*config*) printf 'ClusterName = c1\nJobSubmitPlugins = lua\nCliFilterPlugins = (null)\n' ;;
*partition*) echo 'PartitionName=p AllowGroups=ALL Default=YES Nodes=a,b State=UP' ;;
*) exec cat ` + nodes + ` ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "scontrol"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Keeper{Store: store, Slurm: queries.Client{Scontrol: filepath.Join(dir, "scontrol")}}, nodes
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotsAndTheirAge(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, "NodeName=b Arch=aarch64\nNodeName=a Arch=x86_64\nNodeName=c\n")
	inv, note, err := k.Current(ctx)
	if err != nil || note != "" {
		t.Fatal(err, note)
	}
	if d := cmp.Diff(map[string]int{"linux-64": 1, "linux-aarch64": 1}, inv.Platforms()); d != "" {
		t.Error(d)
	}
	if inv.Cluster != "c1" || inv.Count() != 3 || len(inv.Kinds) != 3 || len(inv.Partitions) != 1 || !inv.Partitions[0].Default {
		t.Errorf("%+v", inv)
	}

	// c may tell its architecture any moment: Slurm is asked again at once.
	write(t, nodes, "NodeName=b Arch=aarch64\nNodeName=a Arch=x86_64\nNodeName=c Arch=x86_64\n")
	if inv, _, err = k.Current(ctx); err != nil || inv.Platforms()["linux-64"] != 2 {
		t.Errorf("an incomplete answer aged: %v %v", inv, err)
	}
	// With a complete answer it is not, within the minute.
	write(t, nodes, "NodeName=a Arch=x86_64\n")
	if inv, _, err = k.Current(ctx); err != nil || inv.Count() != 3 {
		t.Errorf("asked again: %v %v", inv, err)
	}
	// Later it is; the old snapshot stays.
	k.MaxAge = time.Nanosecond
	if inv, _, err = k.Current(ctx); err != nil || inv.Count() != 1 {
		t.Errorf("not asked again: %v %v", inv, err)
	}
	files, err := filepath.Glob(filepath.Join(k.Store.Root(), "inventory", "????????????????????????????????????????????????????????????????.json"))
	if err != nil || len(files) != 3 {
		t.Errorf("snapshots: %v %v", files, err)
	}
	// Slurm fails: the last answer holds, with a note.
	if err := os.Remove(nodes); err != nil {
		t.Fatal(err)
	}
	inv, note, err = k.Current(ctx)
	if err != nil || inv.Count() != 1 || !strings.Contains(note, "the nodes are as of") {
		t.Errorf("got %v, %q, %v", inv, note, err)
	}
}

func TestWithoutSlurm(t *testing.T) {
	k, _ := keeper(t)
	k.Slurm.Scontrol = "/nowhere/scontrol"
	if _, _, err := k.Current(context.Background()); !errors.Is(err, queries.ErrNoSlurm) {
		t.Errorf("a daemon without Slurm: %v", err)
	}
	if _, _, err := Read(k.Store); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("nothing kept: %v", err)
	}
	k.HostOnly = true
	inv, _, err := k.Current(context.Background())
	if err != nil || inv.Count() != 1 || inv.Kinds[0].Subdir == "" || inv.Kinds[0].Assumed {
		t.Errorf("a laptop: %+v, %v", inv, err)
	}
	if inv, _, err := Read(k.Store); err != nil || inv.Count() != 1 {
		t.Errorf("kept: %+v, %v", inv, err)
	}
}

// Nodes that have never been up are of the architecture that all others have, if that
// is one; of none otherwise.
func TestNodesThatWereNeverUp(t *testing.T) {
	up := queries.Node{Name: "n1", Arch: "x86_64", Platform: "linux-64"}
	arm := queries.Node{Name: "a1", Arch: "aarch64", Platform: "linux-aarch64"}
	odd := queries.Node{Name: "p1", Arch: "ppc64le"}
	cloud := queries.Node{Name: "c1", Gres: "gpu:h100:4"}
	for name, c := range map[string]struct {
		nodes []queries.Node
		want  string
	}{
		"one":     {[]queries.Node{up, cloud}, "linux-64"},
		"several": {[]queries.Node{up, arm, cloud}, ""},
		"alone":   {[]queries.Node{cloud}, ""},
		"odd":     {[]queries.Node{odd, arm, cloud}, "linux-aarch64"},
	} {
		_, kinds, err := Build("c", c.nodes, nil, nil).Nodes()
		if err != nil {
			t.Fatal(err)
		}
		if k := kinds["c1"]; k.Subdir != c.want || !k.Assumed {
			t.Errorf("%s: %q, want %q", name, k.Subdir, c.want)
		}
		if k := kinds["p1"]; k != nil && k.Subdir != "" {
			t.Errorf("%s: a machine that is not served is taken for %s", name, k.Subdir)
		}
	}
}
