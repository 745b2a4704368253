/* The end of a step that must not run: one message per node, its exit code
 * kept, every node's tasks ended, no node drained. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hpcenv.h"

#define SCANCEL_SEARCH "/usr/bin:/bin:/usr/local/bin:/opt/slurm/bin:/usr/sbin"
#define SCANCEL_SECONDS 2 /* of one try; it takes 20 ms */

/* refuse ends this task. message is empty if the helper has printed it. */
void refuse(const struct node *n, int code, const char *message)
{
	char line[4608];
	int sig = verdict_signal(code);

	if (n->region)
		__atomic_store_n(&n->region->refused, code, __ATOMIC_SEQ_CST);
	if (message[0] && (!n->region || !__atomic_exchange_n(&n->region->said, 1, __ATOMIC_SEQ_CST))) {
		int len = snprintf(line, sizeof(line), "hpcenv: %s: %s\n", n->name, message);
		if (len > (int)sizeof(line) - 1)
			len = (int)sizeof(line) - 1;
		if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
			slurm_error("hpcenv: %s", message);
	}
	if (n->nnodes > 1 && !n->batch) {
		sigset_t set;
		signal(sig, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(sig);
	}
	_exit(code);
}

/* Adds the step's names, one per component of a heterogeneous job. A step has
 * the same number in all its components. One that leaves components out could
 * meet another step's number there, so then only this one is named. */
static void add_steps(struct args *a, const struct node *n, char *const *env)
{
	unsigned long size = env_number(env, "SLURM_HET_SIZE"), nodes = 0;
	char name[64];

	for (unsigned long i = 0; i < size; i++) {
		snprintf(name, sizeof(name), "SLURM_JOB_NUM_NODES_HET_GROUP_%lu", i);
		nodes += env_number(env, name);
	}
	bool whole = n->spans && (size == 2 || (size > 2 && nodes == n->nnodes));
	for (unsigned long i = 0; whole && i < size && i < 16; i++) {
		snprintf(name, sizeof(name), "SLURM_JOB_ID_HET_GROUP_%lu", i);
		unsigned long id = env_number(env, name);
		if (id && id != n->job)
			args_add(a, "%lu.%u", id, n->step);
	}
	args_add(a, "%u.%u", n->job, n->step);
}

/* node_end runs in slurmstepd after the tasks of this node are gone and
 * reported. If they refused, the rest of the step is cancelled from here: a
 * process started by a task could be killed with it before it is heard. It is
 * done as the user, who may cancel the step, not as root. */
void node_end(spank_t sp, struct node *n)
{
	struct args a = { .n = 0 }, e = { .n = 0 };
	/* ms; first of all so that srun gets the message, which its slurmstepd
	 * passes on meanwhile: once the step is cancelled srun listens no more */
	static const int pauses[] = { 200, 500, 1000, 1500 };
	struct run_result r;
	bool done = false;
	char text[512], **env = NULL;
	const char *conf = getenv("SLURM_CONF");

	if (n->state != NODE_ACTIVE || n->batch || n->nnodes < 2 || !n->region ||
	    !__atomic_load_n(&n->region->refused, __ATOMIC_SEQ_CST))
		return;
	if (spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS)
		env = NULL;
	if (!conf)
		conf = env_find(env, "SLURM_CONF");
	args_add(&e, "PATH=%s", SCANCEL_SEARCH);
	if (conf)
		args_add(&e, "SLURM_CONF=%s", conf);
	args_add(&a, "scancel");
	args_add(&a, "--signal=KILL");
	add_steps(&a, n, env);
	if (!a.failed && !e.failed) {
		struct run_spec s = {
			.path = n->config->scancel, .search = SCANCEL_SEARCH, .argv = a.v, .envp = e.v,
			.timeout_ms = SCANCEL_SECONDS * 1000, .own_group = true, .capture_stderr = true,
			/* The cancel reaches this node too, and its slurmstepd kills
			 * its descendants: from 24.11 on scancel itself sends to
			 * the nodes, and would be killed before it is through. */
			.orphan = true, .become = true, .uid = n->uid, .gid = n->gid, .out = text, .out_size = sizeof(text) - 1,
		};
		/* A node that is still starting its tasks lets the signal pass
		 * by, and scancel itself may get stuck: it is sent again. */
		for (unsigned i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
			nanosleep(&(struct timespec){ pauses[i] / 1000, pauses[i] % 1000 * 1000000L }, NULL);
			run_helper(&s, &r);
			if (r.how == RUN_TIMEOUT)
				continue;
			if (r.how != RUN_EXITED || r.out_len)
				break; /* an error, which may be that the step is gone */
			done = true;
		}
		text[r.out_len] = '\0';
		if (!done)
			slurm_error("hpcenv: step %u.%u was refused here, but %s may not have ended it on its other nodes: %s", n->job,
				    n->step, n->config->scancel, r.how == RUN_NOEXEC ? strerror(r.code) : text);
	}
	args_free(&a);
	args_free(&e);
}
