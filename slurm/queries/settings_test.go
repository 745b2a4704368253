package queries_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/slurm/queries"
)

func TestSettings(t *testing.T) {
	out, err := os.ReadFile("testdata/config-22.05.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := queries.ParseSettings(out, "ClusterName", "JobContainerType", "NoSuchThing")
	if _, ok := got["NoSuchThing"]; ok || got["ClusterName"] == "" {
		t.Errorf("%v", got)
	}
	// What Slurm prints for nothing is nothing.
	if d := cmp.Diff(map[string]string{"A": "", "B": "x = y"}, queries.ParseSettings([]byte("A = (null)\nB   = x = y\n"), "A", "B", "C")); d != "" {
		t.Error(d)
	}
}
