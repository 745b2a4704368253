// Package slurm is the room of all that speaks Slurm: queries (what Slurm says of its
// nodes and partitions), hostlist (its way to write names of nodes), scope (which nodes
// a submission can land on), launchbench (what a launch costs), clustertest (stories on
// a real cluster), and spank, which has no Go code and whose protocol is written down here.
//
// spank is the SPANK shim, hpcenv_spank.so: the only part
// of hpcenv that is loaded into srun, sbatch, salloc and slurmstepd. It is C, it
// uses spank.h alone, and it decides nothing: it runs the helper (cmd/hpcenv,
// "hpcenv spank …") at the right moment with the right authority, and carries
// out its answer. There is no Go code here; the protocol is written down here
// because both sides must keep it.
//
// # What enters, what leaves
//
// plugstack.conf (root-owned, shipped by configless Slurm):
//
//	required hpcenv_spank.so helper=PATH store=PATH owner=UID prefix_root=PATH
//	    socket=PATH run_dir=PATH off=PATH mount=step|job|host
//	    attach_timeout=SECONDS activate_timeout=SECONDS scancel=PATH
//	    local=DIR local_size=BYTES local_memory=yes|no local_fail=store|refuse
//	    delivery=image|tree fuse=yes|no|only
//
// Defaults: helper /usr/libexec/hpcenv/hpcenv, prefix_root /opt/hpcenv/e, socket
// /run/hpcenv/hpcenvd.sock, run_dir /run/hpcenv-node, off /etc/hpcenv/off, mount step,
// attach_timeout 10, activate_timeout 60, scancel looked up in /usr/bin, /bin,
// /usr/local/bin, /opt/slurm/bin. A wrong argument does not disturb jobs without
// the option; a submission that uses it fails and says which argument is wrong.
//
// Options: --env-lock, --env-name, --env-wait, --env-check, and as variables
// SBATCH_ENV_LOCK …, SALLOC_ENV_LOCK …, SLURM_ENV_LOCK … (srun). The command line
// stands above the variable, the variable above #SBATCH. None of the variables
// reaches the job. A step that has its environment from the job may say --env-check
// for itself: SLURM_HPCENV_CHECK carries it to the helper.
//
// The pin, one value, is what a job carries: SLURM_SPANK_HPCENV_PIN in steps
// (job_control HPCENV_PIN; SPANK_HPCENV_PIN in prologs). Its outer form is
//
//	1:tree:JSON   the cluster's store: the node attaches it, as root
//	1:private:JSON  a group's part of the cluster's store: the node attaches that, as
//	              root, in mounts of the step or of its tasks alone
//	1:own:JSON    a user's own store: root touches nothing
//
// # The helper
//
// An answer is on stdout: records, each ended by a NUL byte: pin=VALUE,
// scope=VALUE, set=NAME=VALUE, unset=NAME. Anything else, also an answer cut off, is refused
// whole. --owner is left out if plugstack.conf does not say it; every other argument
// is always there, perhaps empty. Exit code 0 is success; otherwise the helper has said on stderr what,
// where, why and what to do, and its code is kept.
//
//	hpcenv spank submit --context=sbatch|salloc|srun --store= --socket= --prefix-root= --owner=
//	    --lock= --name= --wait= --check= --pin= --component=N [--step=1]
//
// As the user, in the submit directory, with the submitting environment, without
// a time limit. --pin is the inherited pin or empty; --component counts the
// components of a heterogeneous job; --step=1: a step of an existing job. Answers
// pin, set, unset. INT, TERM, HUP and QUIT of the submitting process are passed on.
// The helper's parent is that process: from its arguments the helper finds the job
// script, about which it warns.
//
//	hpcenv spank attach --store= --owner= --prefix-root= --uid= --gid= --groups=1,2 --run-dir= --job=N --pin= [--shared]
//	    [--local= [--local-size=] [--local-fail=store|refuse] [--local-memory]] [--delivery=image|tree] [--fuse=yes|no|only]
//
// --pin is the step's, or empty; unless it is the step's own choice, what the prolog
// left in RUN_DIR/job/JOB stands above it. What a pin of the environment asks for is
// opened as the user, so it opens nothing to who could not. As root, with an empty
// environment, for attach_timeout at most. With mount=step
// once per step and node, in a mount namespace of the step; with mount=job
// once per step and node in the job's own namespace (job_container/tmpfs), where it
// finds its own earlier work; with mount=host never. But of a group's part of the
// store, with mount=job and mount=host, once per task, in a mount namespace
// that the task gets of its own just before it becomes the user (a copy of the job's or the host's;
// user, IPC and process namespaces, which shared memory between ranks looks at, stay
// what they are). What is there as an image only is mounted at its prefix, in a tmpfs
// over the prefix root; --shared (other steps have the same mounts) refuses that where
// the prefix root has something else in it. stdout and stderr (up to 4 KiB) are the message of a failure. Of an attach
// that succeeded what it said goes to slurmd's log, and to activate (--notes), which says it
// to the user, once per node in a job; after a NUL byte its answer (--attached): words ID=WHAT, what
// each environment is attached as (tree, image, local, squashfuse; the ID * is all trees).
//
//	hpcenv spank activate --store= --prefix-root= --run-dir= --job=N --step=N --nodeid=N --pin= --batch=0|1 [--attached=] [--notes=] [--command=PROGRAM]
//
// As the user, in one task of the step and node, inside the step's limits, with the
// task's environment, for activate_timeout at most. --pin is empty for a step that
// entered the job from outside: the helper reads RUN_DIR/job/JOB. Answers set, unset;
// every task of the node applies them.
//
// # When a node refuses
//
// One message per node. With one node, or in a batch script, the task exits with the
// helper's code; 1 if the helper crashed, 4 if it ran out of time, 5 if it cannot be
// started. With more nodes the refusing tasks end by the signal 50 + code, slurmstepd
// then cancels the step as the user, and the plugin in srun turns the status back into
// the code and prints one summary line: "step 81234.0 ended on all 64 nodes: a node
// cannot run it" (verdict.c says why). How failures of the
// user's own programs are treated does not change. Node-side hooks never fail, so no
// node is drained.
//
// # Files
//
// hooks.c says which hook does what; plugin.c is what Slurm's loader reads; config.c,
// options.c, process.c are what comes in; submit.c is the submit side; node.c,
// attach.c, activate.c, mounts.c, region.c the node; container.c looks for pyxis; refuse.c and verdict.c the end of a
// refused step; run.c, run_child.c, records.c, text.c the helper's process and answer.
package slurm
