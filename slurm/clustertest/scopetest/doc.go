// Package scopetest compares slurm/scope with a real Slurm: some 200 generated
// submissions by sbatch, salloc and srun, and for each what slurmctld then says of the
// job. An answer is exact, widened, or too narrow; none may be too narrow. Then the same
// with a job_submit script that moves jobs, and with the scripts of contrib/slurm.
//
// The cluster is that of contrib/devcluster with nodes that are not there, so that jobs
// stay in the queue. What a node offers is not computed but asked: a job that requires
// the node and the features or GRES is accepted or refused. The tests have the build tag
// "cluster" and need root; SCOPETEST_SEED repeats a run.
package scopetest
