package checkup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// TestJob: what Slurm's variables say of a script, of a step on unlike nodes and of no
// job at all.
func TestJob(t *testing.T) {
	for name, c := range map[string]struct {
		vars map[string]string
		want *Job
	}{
		"none":   {map[string]string{"SLURM_CONF": "/etc/slurm.conf"}, nil},
		"script": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_NNODES": "3", "SLURM_JOB_GPUS": "0,2-3", "SLURM_TASKS_PER_NODE": "4(x3)"}, &Job{ID: "7", Nodes: 3, WantsGPU: true, Devices: []int{0, 2, 3}}},
		"step": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1", "SLURM_STEP_NUM_NODES": "3", "SLURM_NNODES": "5", "SLURM_NODEID": "2", "SLURM_STEP_TASKS_PER_NODE": "4(x2),3"},
			&Job{ID: "7", Step: "1", Nodes: 3, Tasks: 3}},
		"names": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1", "CUDA_VISIBLE_DEVICES": "GPU-5f1c9a"}, &Job{ID: "7", Step: "1", WantsGPU: true}},
		"odd": {map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1", "SLURM_NODEID": "9", "SLURM_STEP_TASKS_PER_NODE": "4(x", "SLURM_STEP_GPUS": "mig-a", "SLURM_NNODES": "-1"},
			&Job{ID: "7", Step: "1", WantsGPU: true}},
	} {
		if diff := cmp.Diff(c.want, jobOf(lookup(c.vars)), cmpopts.IgnoreUnexported(Job{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestFirstOfNode: the launcher within a step numbers its processes itself.
func TestFirstOfNode(t *testing.T) {
	for _, c := range []struct {
		vars map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"SLURM_LOCALID": "0"}, true},
		{map[string]string{"SLURM_LOCALID": "3"}, false},
		{map[string]string{"SLURM_LOCALID": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, false},
		{map[string]string{"SLURM_LOCALID": "0", "MPI_LOCALRANKID": "0"}, true},
	} {
		if got := FirstOfNode(lookup(c.vars)); got != c.want {
			t.Errorf("%v: %v", c.vars, got)
		}
	}
}
