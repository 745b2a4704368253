package snapshot_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// TestSameHosts: nodes that share an identifier, and those among some.
func TestSameHosts(t *testing.T) {
	ids := map[string]string{"n1": "007f0101", "n2": "007f0101", "n10": "007f0101", "n3": "0a010203", "n4": "", "n5": "", "g1": "00000001", "g2": "00000001"}
	lists := snapshot.SameHosts(ids)
	if d := cmp.Diff([]string{"g[1-2]", "n[1-2,10]"}, lists); d != "" {
		t.Error(d)
	}
	s := &snapshot.Snapshot{SameHost: lists}
	among, err := s.SameAmong(func(n string) bool { return n == "g1" || n == "n2" || n == "n10" || n == "n3" })
	if d := cmp.Diff([]string{"n[2,10]"}, among); d != "" || err != nil {
		t.Error(d, err)
	}
	s.SameHost = []string{"n[2-"}
	if _, err := s.SameAmong(func(string) bool { return true }); !errors.Is(err, snapshot.ErrDamaged) {
		t.Error(err)
	}
}
