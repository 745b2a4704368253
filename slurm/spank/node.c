/* One slurmstepd (node_begin, node_end) and the tasks it forks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "hpcenv.h"

/* Step ids that are not a number of the user's (slurm.h; slurm/spank.h does
 * not carry them). */
#define STEP_EXTERN 0xfffffffcU
#define STEP_BATCH 0xfffffffbU

static bool job_has_file(const struct node *n)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/job/%u", n->config->run_dir, n->job);

	return len > 0 && (size_t)len < sizeof(path) && !access(path, F_OK);
}

/* What lies in a group's part of the store is for the tasks of its own step
 * only, wherever the trees that all may read are attached. The pin says so, or
 * what the prolog left, which may stand above it. */
static bool of_group(const struct node *n)
{
	static const char start[] = "1:private:";
	char text[sizeof(start)] = "", path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/job/%u", n->config->run_dir, n->job);

	if (n->pin && !strncmp(n->pin, start, sizeof(start) - 1))
		return true;
	if (len < 0 || (size_t)len >= sizeof(path))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	return got == (ssize_t)sizeof(start) - 1 && !strcmp(text, start);
}

/* The node's name as Slurm has it is known in a task only. */
static void name_node(spank_t sp, struct node *n)
{
	char **env = NULL;
	const char *name = NULL;

	if (spank_get_item(sp, S_JOB_ENV, &env) == ESPANK_SUCCESS)
		name = env_find(env, "SLURMD_NODENAME");
	if (name)
		snprintf(n->name, sizeof(n->name), "%s", name);
	else if (gethostname(n->name, sizeof(n->name) - 1))
		snprintf(n->name, sizeof(n->name), "node %u", n->nodeid);
}

/* SPANK counts the nodes of one component; srun, of the whole step. */
static void identify(spank_t sp, struct node *n, char *const *env)
{
	n->nnodes = 1;
	spank_get_item(sp, S_JOB_NNODES, &n->nnodes);
	unsigned long all = env_number(env, "SLURM_STEP_NUM_NODES");
	n->spans = n->step != STEP_BATCH && all > n->nnodes && all <= UINT32_MAX;
	if (n->spans)
		n->nnodes = (uint32_t)all;
	spank_get_item(sp, S_JOB_NODEID, &n->nodeid);
	spank_get_item(sp, S_JOB_UID, &n->uid);
	spank_get_item(sp, S_JOB_GID, &n->gid);
	n->batch = n->step == STEP_BATCH;
}

/* node_begin runs in slurmstepd as root, before it has any task or standard
 * descriptors of the job. It cannot fail: what is wrong is told by the tasks. */
void node_begin(spank_t sp, const struct config *c, struct node *n)
{
	char **env = NULL;
	const char *pin;

	*n = (struct node){ .state = NODE_IDLE, .config = c };
	if (spank_get_item(sp, S_JOB_STEPID, &n->step) != ESPANK_SUCCESS || n->step == STEP_EXTERN)
		return;
	if (spank_get_item(sp, S_JOB_ID, &n->job) != ESPANK_SUCCESS || spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS)
		return;
	pin = env_find(env, PIN_VARIABLE);
	if (pin && !pin[0])
		pin = NULL;
	const char *entered = env_find(env, ATTACH_VARIABLE);
	n->entered = entered != NULL;
	if (!pin && !(n->entered && job_has_file(n)))
		return;
	identify(sp, n, env);
	n->state = NODE_ACTIVE;
	n->pin = pin ? strdup(pin) : NULL;
	n->region = region_new();
	n->contained = container_wanted(env) || (entered && !strcmp(entered, ATTACH_CONTAINED));
	n->broken = !n->region || (pin && !n->pin);
	n->off = config_switched_off(c, n->reason, sizeof(n->reason));
	if (n->broken || n->contained || c->bad[0] || n->off)
		return; /* node_task refuses */
	/* The pin of a user's own store needs no root; but the file of the
	 * step's own job stands above an inherited pin. */
	n->alone = c->mount != MOUNT_STEP && of_group(n);
	n->attach_wanted = n->alone || (c->mount != MOUNT_HOST && (!pin || strncmp(pin, "1:own:", 6) || job_has_file(n)));
	n->mounts = mounts_which();
	if (n->attach_wanted && c->mount == MOUNT_STEP)
		attach_apart(sp, n);
}

/* node_task_privileged attaches where the job, not the step, has a mount
 * namespace: the task is already inside it. There, and where the host has the
 * trees, a group's are attached for this task alone: the slurmstepd may not
 * leave its namespace before it has joined the job's, and others use those. */
int node_task_privileged(spank_t sp, struct node *n)
{
	if (n->state != NODE_ACTIVE || !n->attach_wanted || n->config->mount == MOUNT_STEP || !n->region)
		return 0;
	if (region_lock(n->region, n->config->attach_timeout + 5))
		return 0; /* node_task meets the same lock and says so */
	if (n->alone && !n->region->attach_code)
		attach_apart(sp, n);
	else if (!n->region->attach)
		attach_within(sp, n);
	n->here = !n->region->attach_code;
	region_unlock(n->region);
	return 0;
}

/* A job that asked for its environment must not run on the host's programs
 * instead, least of all on some of its nodes. */
static void refuse_off(const struct node *n)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "switched off by %s%s%s; this job needs its environment; next: exclude this node (--exclude=%s) or ask the administrator",
		 n->config->off, n->reason[0] ? ": " : "", n->reason, n->name);
	refuse(n, CODE_UNFIT, line);
}

static void launch(spank_t sp, const struct node *n)
{
	struct region *g = n->region;
	int code;

	if (n->off)
		refuse_off(n);
	if (n->config->bad[0])
		refuse(n, CODE_UNREACHABLE, n->config->bad);
	if (n->broken)
		refuse(n, CODE_FAILED, "out of memory; next: ask for more memory (--mem)");
	if (n->contained)
		refuse(n, CODE_USAGE, "this step has an environment, and a container (--container-image, PYXIS_CONTAINER_IMAGE), which has a root directory of its own, in which the environment is not; next: leave one of them out");
	if (n->pin && strncmp(n->pin, "1:", 2))
		refuse(n, CODE_FAILED, "the job was submitted with a version of hpcenv that this node's does not know; next: the administrator installs one release on all hosts");
	if (n->attach_wanted && g->attach && g->attach_code)
		refuse(n, g->attach_code, g->message);
	if (region_lock(g, n->config->attach_timeout + n->config->activate_timeout + 5))
		refuse(n, CODE_NOT_READY, "the first task of the node did not finish the activation in time; next: see whether the environment's activation scripts hang on this host, or exclude it (--exclude)");
	if (n->attach_wanted && g->attach && g->attach_code) {
		region_unlock(g);
		refuse(n, g->attach_code, g->message);
	}
	if (n->alone && !n->here) {
		region_unlock(g);
		refuse(n, CODE_NOT_READY, "the environment was not attached for this task in time; next: ask for fewer tasks on a node, or exclude this one (--exclude)");
	}
	if (!g->active) {
		g->active_code = activate_run(sp, n);
		g->active = 1;
	}
	code = g->active_code;
	region_unlock(g);
	if (!code)
		code = activate_apply(sp, n);
	if (code)
		refuse(n, code, g->message);
}

/* node_task runs in each task, as the user, just before exec. */
int node_task(spank_t sp, struct node *n)
{
	char name[17] = "";

	if (n->entered)
		spank_unsetenv(sp, ATTACH_VARIABLE);
	if (n->state == NODE_IDLE)
		return 0;
	name_node(sp, n);
	/* proctrack/linuxproc kills no process that is named slurmstepd, and a
	 * task that waits here must be killable. */
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "hpcenv");
	launch(sp, n);
	prctl(PR_SET_NAME, name);
	return 0;
}
