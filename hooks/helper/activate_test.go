package helper

import (
	"testing"

	"github.com/hpcenv/hpcenv/hooks/pin"
)

// A node's warnings are shown once in a job.
func TestWhoWarns(t *testing.T) {
	t.Setenv("SLURMD_NODENAME", "n1")
	batch := map[string]string{"ENVIRONMENT": "BATCH", "SLURM_JOB_NODELIST": "n[1-2]"}
	with := func(name, value string) map[string]string {
		out := map[string]string{name: value}
		for k, v := range batch {
			if k != name {
				out[k] = v
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		flags activateFlags
		pin   pin.Pin
		env   map[string]string
		want  bool
	}{
		"the batch script":                   {activateFlags{step: "batch", batch: true}, pin.Pin{}, batch, true},
		"its first step on its node":         {activateFlags{step: "0"}, pin.Pin{}, batch, false},
		"its first step on another node":     {activateFlags{step: "0"}, pin.Pin{}, with("SLURM_JOB_NODELIST", "n[0-2]"), true},
		"its second step":                    {activateFlags{step: "1"}, pin.Pin{}, with("SLURM_JOB_NODELIST", "n[0-2]"), false},
		"a step with an environment":         {activateFlags{step: "1"}, pin.Pin{Step: true}, batch, true},
		"srun alone":                         {activateFlags{step: "0"}, pin.Pin{}, map[string]string{"SLURM_JOB_NODELIST": "n1"}, true},
		"a component of a heterogeneous job": {activateFlags{step: "0"}, pin.Pin{}, with("SLURM_HET_SIZE", "2"), true},
		"nobody says which nodes":            {activateFlags{step: "0"}, pin.Pin{}, with("SLURM_JOB_NODELIST", ""), true},
	} {
		env := func(key string) (string, bool) { v, ok := c.env[key]; return v, ok }
		if got := c.flags.warns(&c.pin, env); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
