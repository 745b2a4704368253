package scope

// variable of the environment that stands for an option.
type variable struct{ name, option string }

// variables by program, in the order in which they are read: the last one counts.
// Only those that say where a job can land. SBATCH_TRES_PER_TASK and its like are
// read by some releases only: request.go lets them narrow nothing.
var variables = map[string][]variable{
	"sbatch": {
		{"SBATCH_BATCH", "batch"}, {"SBATCH_CLUSTER_CONSTRAINT", "cluster-constraint"},
		{"SBATCH_CLUSTERS", "clusters"}, {"SLURM_CLUSTERS", "clusters"}, {"SBATCH_CONSTRAINT", "constraint"},
		{"SBATCH_GRES", "gres"}, {"SBATCH_GPUS", "gpus"}, {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
		{"SBATCH_GPUS_PER_SOCKET", "gpus-per-socket"}, {"SBATCH_GPUS_PER_TASK", "gpus-per-task"},
		{"SBATCH_PARTITION", "partition"}, {"SBATCH_RESERVATION", "reservation"}, {"SBATCH_SPREAD_JOB", "spread-job"},
		{"SBATCH_THREADS_PER_CORE", "threads-per-core"}, {"SBATCH_TRES_PER_TASK", "tres-per-task"},
	},
	"salloc": {
		{"SALLOC_CLUSTER_CONSTRAINT", "cluster-constraint"}, {"SALLOC_CLUSTERS", "clusters"}, {"SLURM_CLUSTERS", "clusters"},
		{"SALLOC_CONSTRAINT", "constraint"}, {"SALLOC_GPUS", "gpus"}, {"SALLOC_GPUS_PER_NODE", "gpus-per-node"},
		{"SALLOC_GPUS_PER_SOCKET", "gpus-per-socket"}, {"SALLOC_GPUS_PER_TASK", "gpus-per-task"}, {"SALLOC_GRES", "gres"},
		{"SALLOC_PARTITION", "partition"}, {"SALLOC_RESERVATION", "reservation"}, {"SALLOC_SPREAD_JOB", "spread-job"},
		{"SALLOC_THREADS_PER_CORE", "threads-per-core"}, {"SALLOC_TRES_PER_TASK", "tres-per-task"},
	},
	"srun": {
		{"SLURM_CLUSTERS", "clusters"}, {"SLURM_CLUSTER_CONSTRAINT", "cluster-constraint"}, {"SLURM_CONSTRAINT", "constraint"},
		{"SLURM_GPUS", "gpus"}, {"SLURM_GPUS_PER_NODE", "gpus-per-node"}, {"SLURM_GPUS_PER_SOCKET", "gpus-per-socket"},
		{"SLURM_GPUS_PER_TASK", "gpus-per-task"}, {"SLURM_GRES", "gres"}, {"SLURM_JOB_ID", "jobid"},
		{"SLURM_JOB_NUM_NODES", "nodes"}, {"SLURM_NCORES_PER_SOCKET", "cores-per-socket"}, {"SLURM_NPROCS", "ntasks"},
		{"SLURM_NTASKS", "ntasks"}, {"SLURM_NSOCKETS_PER_NODE", "sockets-per-node"}, {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"},
		{"SLURM_NTASKS_PER_GPU", "ntasks-per-gpu"}, {"SLURM_NTASKS_PER_TRES", "ntasks-per-tres"}, {"SLURM_PARTITION", "partition"},
		{"SLURM_RESERVATION", "reservation"}, {"SLURM_SPREAD_JOB", "spread-job"},
		{"SLURM_THREADS_PER_CORE", "threads-per-core"}, {"SLURM_TRES_PER_TASK", "tres-per-task"},
	},
}
