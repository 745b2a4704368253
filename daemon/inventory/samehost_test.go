package inventory

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// TestNodesWithOneHostID: the snapshot names them, and they stay of one kind with the
// others, their facts being kept once. A daemon that starts knows them, too.
func TestNodesWithOneHostID(t *testing.T) {
	ctx := context.Background()
	k, nodes := keeper(t)
	write(t, nodes, threeNodes+"NodeName=d Arch=x86_64 NodeAddr=10.0.0.4 NodeHostName=d State=IDLE Partitions=p\n")
	tell := func(name, addr, id string) {
		t.Helper()
		if err := k.NodeFacts(ctx, name, netip.MustParseAddr(addr), node(facts.Facts{Machine: "x86_64", Platform: "linux-64", Glibc: "2.34", HostID: id})); err != nil {
			t.Fatal(err)
		}
	}
	tell("a", "10.0.0.1", "007f0101")
	tell("b", "10.0.0.2", "007f0101")
	tell("d", "10.0.0.4", "0a00a804")
	published := func(k *Keeper) *snapshot.Snapshot {
		t.Helper()
		if err := k.Publish(ctx); err != nil {
			t.Fatal(err)
		}
		s, _, _, err := snapshot.Read(k.Store.Root())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := published(k)
	if d := cmp.Diff([]string{"a,b"}, s.SameHost); d != "" {
		t.Error(d)
	}
	reports, err := snapshot.ReadReports(k.Store.Root())
	if err != nil || len(reports.Facts) != 1 {
		t.Errorf("%d different facts are kept, %v", len(reports.Facts), err)
	}
	k = &Keeper{Store: k.Store, Slurm: k.Slurm}
	if s, err := k.Refresh(ctx); err != nil || len(s.SameHost) != 1 {
		t.Errorf("after a start: %v, %v", s, err)
	}
	tell("b", "10.0.0.2", "0a00a802")
	if s := published(k); len(s.SameHost) != 0 {
		t.Errorf("after it was put right: %v", s.SameHost)
	}
}
