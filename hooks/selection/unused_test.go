package selection_test

import (
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/selection"
)

// A GPU node whose driver is too old gets what needs no GPU, and that is said; not where
// there is none, where it was named, or where nothing of the lock uses GPUs.
func TestUnusedGPUsAreSaid(t *testing.T) {
	in := job(v100(t))
	r := wants(t, mustSelect(t, in), v100(t), "cpu")
	hasAll(t, r.Unused, "cpu leaves the GPUs unused", "default has driver 520.61.05", "cuda-version 12.9")
	if r := wants(t, mustSelect(t, job(cpuNodes(t))), cpuNodes(t), "cpu"); r.Unused != "" {
		t.Errorf("nodes without GPU: %q", r.Unused)
	}
	in.Wish.Environment = "cpu"
	if r := wants(t, mustSelect(t, in), v100(t), "cpu"); r.Unused != "" {
		t.Errorf("named: %q", r.Unused)
	}
	in = job(v100(t))
	in.Environments = slices.DeleteFunc(slices.Clone(in.Environments), func(e selection.Environment) bool { return e.Name != "cpu" })
	if r := wants(t, mustSelect(t, in), v100(t), "cpu"); r.Unused != "" {
		t.Errorf("a lock without GPU: %q", r.Unused)
	}
}
