/* The root part: the store's prefixes are attached on this node. A child does
 * it, with an empty environment, so that it can be abandoned. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcenv.h"

static char *group_list(spank_t sp)
{
	gid_t *gids = NULL;
	int n = 0;
	char *list = NULL;
	size_t size;

	if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &gids, &n) != ESPANK_SUCCESS)
		n = 0;
	FILE *f = open_memstream(&list, &size);
	if (!f)
		return NULL;
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%u", i ? "," : "", (unsigned)gids[i]);
	if (fclose(f)) {
		free(list);
		return NULL;
	}
	return list;
}

static void failed(const struct node *n, int code, const char *why)
{
	n->region->attach_code = code;
	snprintf(n->region->message, sizeof(n->region->message), "%s", why);
}

/* What a successful attach said on stderr is for slurmd's log now, and for the
 * user when activate runs; what follows a NUL byte is its answer, which only
 * activate reads. Of a text that is too long the answer may be lost. */
static void succeeded(const struct node *n, char *text, size_t len)
{
	struct region *g = n->region;
	size_t said = strlen(text);

	g->attach_code = 0;
	snprintf(g->attached, sizeof(g->attached), "%s", said < len ? text + said + 1 : "");
	while (said && text[said - 1] == '\n')
		text[--said] = '\0';
	snprintf(g->notes, sizeof(g->notes), "%s", text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		slurm_info("hpcenv: job %u: %s", n->job, line);
}

/* attach_run runs the helper and keeps its verdict in the region. It never
 * fails itself: a failure before the tasks' own hooks would drain the node. */
void attach_run(spank_t sp, const struct node *n)
{
	const struct config *c = n->config;
	struct args a = { .n = 0 };
	struct run_result r;
	char text[4096], message[sizeof(text) + 64]; /* text: NUL-terminated */
	char *groups = group_list(sp);
	char *const empty[] = { NULL };

	args_add(&a, "hpcenv");
	args_add(&a, "spank");
	args_add(&a, "attach");
	args_add(&a, "--store=%s", c->store);
	if (c->owner[0])
		args_add(&a, "--owner=%s", c->owner);
	args_add(&a, "--prefix-root=%s", c->prefix_root);
	args_add(&a, "--uid=%u", (unsigned)n->uid);
	args_add(&a, "--gid=%u", (unsigned)n->gid);
	args_add(&a, "--groups=%s", groups ? groups : "");
	args_add(&a, "--run-dir=%s", c->run_dir);
	args_add(&a, "--job=%u", n->job);
	args_add(&a, "--pin=%s", n->pin ? n->pin : "");
	if (c->mount != MOUNT_STEP && !n->alone)
		args_add(&a, "--shared"); /* by the job's other steps */
	if (c->local && c->local[0]) {
		args_add(&a, "--local=%s", c->local);
		if (c->local_size[0])
			args_add(&a, "--local-size=%s", c->local_size);
		if (c->local_fail[0])
			args_add(&a, "--local-fail=%s", c->local_fail);
		if (c->local_memory)
			args_add(&a, "--local-memory");
	}
	if (c->delivery[0])
		args_add(&a, "--delivery=%s", c->delivery);
	if (c->fuse[0])
		args_add(&a, "--fuse=%s", c->fuse);
	if (a.failed || !groups) {
		failed(n, CODE_FAILED, "out of memory");
		goto end;
	}
	struct run_spec s = {
		.path = c->helper, .argv = a.v, .envp = empty, .timeout_ms = c->attach_timeout * 1000, .own_group = true,
		.capture_stderr = true, .out = text, .out_size = sizeof(text) - 1,
	};
	run_helper(&s, &r);
	text[r.out_len] = '\0';
	if (r.how == RUN_EXITED && r.code == 0) {
		succeeded(n, text, r.out_len);
		goto end;
	}
	int code = run_describe(&r, c->helper, c->attach_timeout, message, sizeof(message));
	while (r.out_len && text[r.out_len - 1] == '\n')
		text[--r.out_len] = '\0';
	failed(n, code, r.how == RUN_EXITED && text[0] ? text : message);
end:
	n->region->attach = 1;
	args_free(&a);
	free(groups);
}

/* attach_apart is attach_run in mounts that the caller gets of its own: a
 * slurmstepd for its step, or a task for itself. */
void attach_apart(spank_t sp, const struct node *n)
{
	const char *what = n->alone ? "a task" : "the step", *next = "the administrator may choose mount=job or mount=host in plugstack.conf";
	char why[320];
	int err = mounts_private();

	if (!err) {
		attach_run(sp, n);
		return;
	}
	if (n->alone)
		next = "the administrator lets slurmstepd make mount namespaces, which environments of a group need";
	snprintf(why, sizeof(why), "%s cannot get mounts of its own: %s%s; next: %s", what, strerror(err),
		 err == EINVAL ? " (slurmd's root directory is not a mount point: bind it onto itself)" : "", next);
	failed(n, CODE_FAILED, why);
	n->region->attach = 1;
}

/* attach_within is attach_run in the mounts of the job, which the calling task
 * is in. Where Slurm gives jobs none, they are the node's own: everybody would
 * see what is mounted there, and nothing would take it away. */
void attach_within(spank_t sp, const struct node *n)
{
	if (!n->mounts || n->mounts != mounts_which()) {
		attach_run(sp, n);
		return;
	}
	failed(n, CODE_UNREACHABLE, "mount=job in plugstack.conf needs mounts that Slurm gives each job (JobContainerType=job_container/tmpfs), "
				    "and this job has none of its own; next: exclude the node (--exclude) and tell the administrator, who may choose mount=step");
	n->region->attach = 1;
}
