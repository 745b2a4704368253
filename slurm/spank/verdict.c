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

/* Which node it was its own message says: srun learns of it only by the exit
 * status, which may be that of several. */
static const char *meaning(int code)
{
	switch (code) {
	case CODE_USAGE:
		return "a node was used wrongly";
	case CODE_UNFIT:
		return "a node cannot run it";
	case CODE_NOT_READY:
		return "a node was not ready in time";
	case CODE_UNREACHABLE:
		return "a node could not attach it";
	}
	return "a node could not activate the environment";
}

/* What a refusal may take beyond the time limits of attach and activate: the
 * end of the step on its other nodes. */
#define ENDING_SECONDS 60

/* Step ids from here on are no numbers of steps (slurm.h). */
#define STEP_NUMBERS 0xfffffff0U

static pid_t watching;
static unsigned long step_nodes; /* of all components launched so far */
static time_t latest;            /* a refusal ends the step until then (CLOCK_MONOTONIC) */
static char step_name[32];       /* " 81234.0", of the first component; "" = not known */

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
	uint32_t nodes = 0, job = 0, step = 0;

	if (watching != getpid())
		return;
	if (!step_name[0] && spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS &&
	    spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step < STEP_NUMBERS)
		snprintf(step_name, sizeof(step_name), " %u.%u", job, step);
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
	fprintf(stderr, "hpcenv: step%s ended on all %lu nodes: %s (exit code %d)\n", step_name, step_nodes, meaning(code), code);
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
