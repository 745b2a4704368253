package checkup

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/launch"
)

// Job is the part of a job of Slurm that this process belongs to.
type Job struct {
	ID string `json:"id"`
	// Step is "" in the job's script, and in a shell that has only the job's variables.
	Step string `json:"step,omitempty"`
	// Nodes of the step, else of the job; Tasks of it on this node. 0 = not known.
	Nodes int `json:"nodes,omitempty"`
	Tasks int `json:"tasks,omitempty"`
	// WantsGPU: it was given GPUs. Devices are their numbers as Slurm counts them,
	// those of their device nodes; nil = not known.
	WantsGPU bool  `json:"wants_gpu,omitempty"`
	Devices  []int `json:"devices,omitempty"`

	grant launch.Grant // as a launch reads it
}

func jobOf(env func(string) (string, bool)) *Job {
	get := func(names ...string) string {
		for _, n := range names {
			if v, _ := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	j := &Job{ID: get("SLURM_JOB_ID", "SLURM_JOBID"), Step: get("SLURM_STEP_ID")}
	if j.ID == "" {
		return nil
	}
	j.Nodes = number(get("SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"))
	index := number(get("SLURM_NODEID"))
	if per := perNode(get("SLURM_STEP_TASKS_PER_NODE")); j.Step != "" && index < len(per) {
		j.Tasks = per[index]
	}
	j.grant = launch.Granted(env, j.Step == "")
	j.Devices = j.grant.Minors
	j.WantsGPU = j.grant.Some || get("SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE") != ""
	return j
}

// number is 0 where there is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// maxNodes bounds what a list of counts is unfolded to.
const maxNodes = 1 << 20

// perNode unfolds Slurm's list of counts, "4(x2),3"; nil of what is none.
func perNode(s string) (out []int) {
	for _, part := range strings.Split(s, ",") {
		text, times, repeated := strings.Cut(strings.TrimSuffix(part, ")"), "(x")
		n, err := strconv.Atoi(text)
		count := 1
		if err == nil && repeated {
			count, err = strconv.Atoi(times)
		}
		if err != nil || n < 0 || count < 1 || len(out)+count > maxNodes {
			return nil
		}
		out = append(out, slices.Repeat([]int{n}, count)...)
	}
	return out
}

// localRanks are variables that number the processes of one node, those of a launcher
// within a step before the step's own.
var localRanks = []string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}

// FirstOfNode tells whether this process is the one of its node, in its step or
// launcher, that speaks for all.
func FirstOfNode(env func(string) (string, bool)) bool {
	for _, name := range localRanks {
		if v, _ := env(name); v != "" {
			return v == "0"
		}
	}
	return true
}
