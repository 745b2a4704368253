/* How a refusal on one node reaches srun with its exit code.
 *
 * srun's exit code is the highest of its tasks', and any task that died by a
 * signal stands above all that exited. So the tasks that must be killed on the
 * other nodes (SIGKILL, 137) would hide the code. The refusing tasks therefore
 * end by a real-time signal that carries it, which stands above SIGKILL, and
 * the plugin in srun turns srun's status back into the code. A srun without
 * the plugin exits with 128 + the signal. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static pid_t watching;

static void at_exit(int status, void *unused)
{
	int code = verdict_code(status);

	(void)unused;
	if (!code || getpid() != watching)
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
