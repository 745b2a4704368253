/* The user part: one task of the node runs the helper, all apply its answer. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hpcenv.h"

static int check(void *ctx, enum record kind, const char *name, const char *value)
{
	(void)ctx;
	(void)name;
	(void)value;
	return kind == REC_PIN || kind == REC_SCOPE ? -1 : 0;
}

/* activate_run is called as the user, in a task, with the region locked. It
 * returns the exit code to refuse with, 0 if the answer is in the region. The
 * helper prints its own errors; what it could not say is in region->message. */
int activate_run(spank_t sp, const struct node *n)
{
	const struct config *c = n->config;
	struct region *g = n->region;
	struct args a = { .n = 0 };
	struct run_result r;
	char **env = NULL, **argv = NULL;
	int argc = 0, code = CODE_FAILED;

	if (spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS || !env) {
		snprintf(g->message, sizeof(g->message), "Slurm does not give the task's environment");
		return code;
	}
	args_add(&a, "hpcenv");
	args_add(&a, "spank");
	args_add(&a, "activate");
	args_add(&a, "--store=%s", c->store);
	args_add(&a, "--prefix-root=%s", c->prefix_root);
	args_add(&a, "--run-dir=%s", c->run_dir);
	args_add(&a, "--job=%u", n->job);
	args_add(&a, "--step=%u", n->step);
	args_add(&a, "--nodeid=%u", n->nodeid);
	args_add(&a, "--pin=%s", n->pin ? n->pin : "");
	args_add(&a, "--batch=%d", n->batch ? 1 : 0);
	if (g->attached[0])
		args_add(&a, "--attached=%s", g->attached);
	if (g->notes[0])
		args_add(&a, "--notes=%s", g->notes);
	/* whether it is a launcher of its own, such as mpirun */
	if (!n->batch && spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && argv && argv[0])
		args_add(&a, "--command=%.4096s", argv[0]);
	if (a.failed) {
		snprintf(g->message, sizeof(g->message), "out of memory");
		args_free(&a);
		return code;
	}
	struct run_spec s = {
		.path = c->helper, .argv = a.v, .envp = env, .timeout_ms = c->activate_timeout * 1000, .own_group = true,
		/* A helper that cannot be killed must not keep the task's own
		 * stderr: slurmstepd would wait for its end. */
		.relay_stderr = true, .out = g->data, .out_size = REGION_DATA,
	};
	run_helper(&s, &r);
	args_free(&a);
	g->len = r.out_len;
	g->message[0] = '\0';
	/* When another node ends the step, helper and task are killed together:
	 * that is no crash, and this task must not outlive it to say so. */
	if (r.how == RUN_SIGNALED && r.code == SIGKILL)
		nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
	if (r.how != RUN_EXITED)
		return run_describe(&r, c->helper, c->activate_timeout, g->message, sizeof(g->message));
	if (r.code)
		return r.code > 0 && r.code <= CODE_LAST ? r.code : CODE_FAILED; /* the helper has said why */
	if (!r.truncated && !records_each(g->data, g->len, check, NULL))
		return 0;
	snprintf(g->message, sizeof(g->message),
		 "the helper %s gave an answer that this plugin does not understand. The two are of different versions on this node: install both from one release.",
		 c->helper);
	return code;
}

struct applying {
	spank_t sp;
	char name[128];
};

static int apply(void *ctx, enum record kind, const char *name, const char *value)
{
	struct applying *a = ctx;
	spank_err_t rc;

	if (kind == REC_SET)
		rc = spank_setenv(a->sp, name, value, 1);
	else
		rc = spank_unsetenv(a->sp, name);
	if (rc == ESPANK_SUCCESS)
		return 0;
	snprintf(a->name, sizeof(a->name), "%s", name);
	return 1;
}

/* activate_apply changes this task's environment. The data is copied by nobody
 * and written by nobody once it is there, but records_each cuts names out in
 * place, so each task works on pages of its own. */
int activate_apply(spank_t sp, const struct node *n)
{
	struct applying a = { .sp = sp, .name = "" };
	struct region *g = n->region;
	char *own = malloc(g->len + 1);
	int rc = 1;

	if (own)
		rc = records_each(memcpy(own, g->data, g->len), g->len, apply, &a);
	free(own);
	if (rc)
		snprintf(g->message, sizeof(g->message), "the variable %s cannot be set in the task's environment (out of memory?)", a.name);
	return rc ? CODE_FAILED : 0;
}
