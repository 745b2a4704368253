/* How a refusal on one node reaches srun with its exit code.
 *
 * srun's exit code is the highest of its tasks', and any task that died by a
 * signal stands above all that exited. So the tasks that must be killed on the
 * other nodes (SIGKILL, 137) would hide the code. The refusing tasks therefore
 * end by a real-time signal that carries it, which stands above SIGKILL, and
 * the plugin in srun turns srun's status back into the code. A srun without
 * the plugin exits with 128 + the signal.
 *
 * A program may exit with that very status itself. srun does not tell the two
 * apart, so the status is believed only where a refusal can be its cause: in a
 * step of several nodes, as long as nodes may still be activating. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hpcenv.h"

/* Far from the numbers that programs take for themselves at both ends. */
#define VERDICT_BASE 50

int verdict_signal(int code)
{
	return VERDICT_BASE + code;
}

/* verdict_code returns the code that an exit status of srun carries, or 0. */
int verdict_code(int status)
{
	int code = status - 128 - VERDICT_BASE;

	return code > 0 && code <= CODE_LAST ? code : 0;
}

static const char *meaning(int code)
{
	switch (code) {
	case CODE_USAGE:
		return "wrong usage";
	case CODE_UNFIT:
		return "the environment does not fit the node";
	case CODE_NOT_READY:
		return "not ready in time";
	case CODE_UNREACHABLE:
		return "the store or the helper cannot be reached";
	}
	return "the environment could not be activated";
}

/* What a refusal may take beyond the time limits of attach and activate: the
 * end of the step on its other nodes. */
#define ENDING_SECONDS 60

static pid_t watching;
static unsigned long step_nodes; /* of all components launched so far */
static time_t latest;            /* a refusal ends the step until then (CLOCK_MONOTONIC) */

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* verdict_launched is called in srun for each component when it is about to be
 * launched: waiting for an allocation is over. */
void verdict_launched(spank_t sp, const struct config *c)
{
	uint32_t nodes = 0;

	if (watching != getpid())
		return;
	if (spank_get_item(sp, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS)
		nodes = 2; /* not known: perhaps several */
	step_nodes += nodes;
	latest = now() + (time_t)c->attach_timeout + (time_t)c->activate_timeout + ENDING_SECONDS;
}

static void at_exit(int status, void *unused)
{
	int code = verdict_code(status);

	(void)unused;
	if (!code || getpid() != watching || step_nodes < 2 || now() > latest)
		return;
	fprintf(stderr, "hpcenv: the step was ended on all its nodes, because a node could not start it: exit code %d, %s\n", code, meaning(code));
	fflush(NULL);
	_exit(code); /* handlers registered after this one, srun's own, have run */
}

/* verdict_watch is called in srun for a step that has an environment. Slurm
 * unloads plugins before srun exits, so the handler's code is kept in memory. */
void verdict_watch(void)
{
	Dl_info self;

	if (watching == getpid())
		return;
	if (!dladdr((void *)(uintptr_t)&verdict_watch, &self) || !dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE))
		return; /* the code is then 128 + the signal: not hidden, only less clear */
	watching = getpid();
	on_exit(at_exit, NULL);
}
