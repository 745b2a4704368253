// Package scope answers, before a job is submitted, which nodes it can land on.
//
// Enters: the process that submits (sbatch, salloc, srun: its arguments, its
// environment, its directory, the component of a heterogeneous job) and what the
// cluster looks like (nodes with features, GRES and partitions; partitions; the
// plugins that have a say). Leaves: a Scope, the set of nodes and why.
//
// SPANK shows a plugin none of this, so it is read where Slurm itself reads it:
// the command line stands above the variables, the variables above #SBATCH lines. The
// one rule is that the answer is never too narrow. Whatever cannot be understood, read
// or known (a script on standard input, an option of another plugin, a job_submit
// plugin that may move the job) makes the answer wider, with a reason in words. States
// of nodes, limits, and what is asked of memory and processors do not narrow it.
//
// With contrib/slurm/cli_filter.lua the options are those that Slurm itself
// understood (record.go); with contrib/slurm/job_submit.lua a job that is moved out of
// what was answered is refused (carry.go).
//
//	table.go, variables.go  options and variables, facts of Slurm 22.05 to 24.11
//	words.go                words to settings, as getopt_long reads them
//	script.go               #SBATCH lines to words
//	request.go              settings of one component, in Slurm's precedence
//	record.go               the same, from the record of a cli_filter
//	process.go              a live process
//	scope.go, narrow.go     a request and a cluster to a Scope
//	constraint.go, gres.go, count.go, nodefile.go   what single options mean
//	carry.go                what the job carries for slurmctld's job_submit
package scope
