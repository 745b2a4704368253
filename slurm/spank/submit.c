/* The submit side: sbatch, salloc, srun, as the user. The helper does the
 * work; the shim puts its pin where the job finds it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpcenv.h"

#define ANSWER_MAX ((size_t)4 << 20)
#define PIN_MAX 8192 /* bytes; the helper keeps it under 4096 */

extern char **environ;

/* What this process inherited, before it set a pin itself: a heterogeneous job
 * is one process with one call per component. */
static char *inherited;
static int component;
/* An earlier component of this process said where it may run. */
static bool scoped;

static const char *program(bool srun)
{
	if (srun)
		return "srun";
	return strcmp(program_invocation_short_name, "salloc") ? "sbatch" : "salloc";
}

/* submit_started is called from slurm_spank_init, before options are read. */
void submit_started(const struct config *c, bool srun)
{
	const char *pin = getenv(PIN_VARIABLE);

	(void)c;
	inherited = pin && pin[0] ? strdup(pin) : NULL;
	options_from_environment(srun);
}

/* A srun that names a job from outside of it has neither the option nor the
 * job's pin. Only the node can know that job's, so it is asked to look. */
static bool enters_other_job(void)
{
	const char *wanted = process_jobid_argument(), *own = getenv("SLURM_JOB_ID");

	if (wanted)
		return !own || strcmp(wanted, own);
	return own && !getenv("SLURM_JOB_NODELIST");
}

struct answer {
	spank_t sp;
	const char *pin, *scope;
	bool apply;
};

static int take(void *ctx, enum record kind, const char *name, const char *value)
{
	struct answer *a = ctx;

	switch (kind) {
	case REC_PIN:
		a->pin = value;
		return strlen(value) < PIN_MAX && !strncmp(value, "1:", 2) ? 0 : -1;
	case REC_SCOPE:
		a->scope = value;
		return strlen(value) < PIN_MAX ? 0 : -1;
	case REC_SET:
		return a->apply && setenv(name, value, 1) ? -1 : 0;
	case REC_UNSET:
		return a->apply && unsetenv(name) ? -1 : 0;
	}
	return -1;
}

static int use(spank_t sp, char *buf, size_t len, const char *helper)
{
	struct answer a = { .sp = sp };

	if (records_each(buf, len, take, &a) || !a.pin) {
		slurm_error("hpcenv: the helper %s gave an answer that this plugin does not understand. The two are of "
			    "different versions: install both from one release.", helper);
		return -1;
	}
	if (setenv(PIN_VARIABLE, a.pin, 1) || spank_job_control_setenv(sp, PIN_CONTROL, a.pin, 1) != ESPANK_SUCCESS) {
		slurm_error("hpcenv: the job's pin (%zu bytes) cannot be passed to Slurm", strlen(a.pin));
		return -1;
	}
	/* for contrib/slurm/job_submit.lua; components of one job would inherit an
	 * earlier one's */
	if (a.scope && spank_job_control_setenv(sp, SCOPE_CONTROL, a.scope, 1) != ESPANK_SUCCESS) {
		slurm_error("hpcenv: where the job may run (%zu bytes) cannot be passed to Slurm", strlen(a.scope));
		return -1;
	}
	scoped = scoped || a.scope;
	a.apply = true;
	if (records_each(buf, len, take, &a)) {
		slurm_error("hpcenv: the environment of this process cannot be changed: out of memory");
		return -1;
	}
	return 0;
}

static int ask(spank_t sp, const struct config *c, bool srun)
{
	struct args a = { .n = 0 };
	struct run_result r;
	char message[1024];
	int rc = -1;
	const char *lock = options_value(OPT_LOCK), *name = options_value(OPT_NAME);
	const char *wait = options_value(OPT_WAIT), *check = options_value(OPT_CHECK);
	char *out = malloc(ANSWER_MAX);

	args_add(&a, "hpcenv");
	args_add(&a, "spank");
	args_add(&a, "submit");
	args_add(&a, "--context=%s", program(srun));
	args_add(&a, "--store=%s", c->store);
	args_add(&a, "--socket=%s", c->socket);
	args_add(&a, "--prefix-root=%s", c->prefix_root);
	if (c->owner[0])
		args_add(&a, "--owner=%s", c->owner);
	args_add(&a, "--lock=%s", lock ? lock : "");
	args_add(&a, "--name=%s", name ? name : "");
	args_add(&a, "--wait=%s", wait ? wait : "");
	args_add(&a, "--check=%s", check ? check : "");
	args_add(&a, "--pin=%s", inherited ? inherited : "");
	args_add(&a, "--component=%d", component);
	if (srun && (getenv("SLURM_JOB_ID") || process_jobid_argument()))
		args_add(&a, "--step=1");
	if (a.failed || !out) {
		slurm_error("hpcenv: out of memory");
		goto end;
	}
	struct run_spec s = {
		.path = c->helper, .argv = a.v, .envp = environ, .forward_signals = true, .out = out, .out_size = ANSWER_MAX,
	};
	run_helper(&s, &r);
	if (r.how == RUN_EXITED && r.code == 0 && !r.truncated) {
		rc = use(sp, out, r.out_len, c->helper);
	} else if (r.how == RUN_SIGNALED && (r.code == SIGINT || r.code == SIGTERM || r.code == SIGHUP)) {
		slurm_error("hpcenv: interrupted; nothing was submitted");
	} else if (r.how != RUN_EXITED || r.code == 0) {
		run_describe(&r, c->helper, 0, message, sizeof(message));
		slurm_error("hpcenv: %s", message);
	} /* else the helper has said why */
end:
	args_free(&a);
	free(out);
	return rc;
}

/* How strictly a step's nodes are checked is the step's own choice, also where the
 * environment is the job's. For a new job it is asked anew. */
static int choose_check(bool srun)
{
	const char *check = options_value(OPT_CHECK);

	if (!srun)
		return unsetenv(CHECK_VARIABLE);
	if (!check || !inherited)
		return 0;
	if (strcmp(check, "strict") && strcmp(check, "warn") && strcmp(check, "off")) {
		slurm_error("hpcenv: --env-check=%.64s is none of strict, warn, off; next: leave it out, or say one of them", check);
		return -1;
	}
	return setenv(CHECK_VARIABLE, check, 1);
}

/* In a container the environment's prefix is not there, and its libraries would
 * meet another system's. */
static int refuse_container(bool asked)
{
	if (asked)
		slurm_error("hpcenv: --env-lock and a container (--container-image, PYXIS_CONTAINER_IMAGE) exclude each other: the container has a "
			    "root directory of its own, in which the environment is not; next: leave one of them out");
	else
		slurm_error("hpcenv: this has the environment of the surrounding job, and a container (--container-image, PYXIS_CONTAINER_IMAGE) "
			    "has a root directory of its own, in which that is not; next: leave the container out, or go without the "
			    "environment: env -u " PIN_VARIABLE " %s ...", program_invocation_short_name);
	return -1;
}

/* submit is slurm_spank_init_post_opt of the submit side. Without an option, a
 * pin or a foreign job it does nothing: no file, no process, no variable. */
int submit(spank_t sp, const struct config *c, bool srun)
{
	bool asked = options_value(OPT_LOCK) || options_value(OPT_NAME), off;
	char reason[256] = "";
	int rc = 0;

	/* a preference in the user's profile must not break jobs without hpcenv */
	if (!options_value(OPT_LOCK) && !inherited && options_from_variable(OPT_NAME))
		asked = false;
	options_clear_carriers(sp);
	if (choose_check(srun))
		return -1;
	if ((asked || inherited) && container_wanted(environ))
		return refuse_container(asked);
	off = (asked || inherited) && !c->bad[0] && config_switched_off(c, reason, sizeof(reason));
	if (asked) {
		if (c->bad[0]) {
			slurm_error("hpcenv: --env-lock cannot be used on this host: %s; next: the administrator corrects plugstack.conf", c->bad);
			return -1;
		}
		if (off) {
			slurm_error("hpcenv: switched off on this host by %s%s%s; next: submit without --env-lock, or ask the administrator",
				    c->off, reason[0] ? ": " : "", reason);
			return -1;
		}
		rc = ask(sp, c, srun);
	} else if (inherited && !srun && !c->bad[0] && !off) {
		/* the job's lock goes on; what its nodes get of it is chosen anew */
		rc = ask(sp, c, srun);
	} else if (inherited) {
		if (spank_job_control_setenv(sp, PIN_CONTROL, inherited, 1) != ESPANK_SUCCESS) {
			slurm_error("hpcenv: the pin of the surrounding job cannot be passed on to Slurm");
			rc = -1;
		}
	} else if (srun && enters_other_job()) {
		/* Slurm does not put down for nodes what srun's options of other plugins are. */
		rc = setenv(ATTACH_VARIABLE, container_wanted(environ) ? ATTACH_CONTAINED : "1", 1) ? -1 : 0;
	} else {
		component++;
		/* or it would be held to where the other may run */
		return scoped && spank_job_control_setenv(sp, SCOPE_CONTROL, "1", 1) != ESPANK_SUCCESS ? -1 : 0;
	}
	component++;
	if (!rc && srun)
		verdict_watch();
	return rc;
}
