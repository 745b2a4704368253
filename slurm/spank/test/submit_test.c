/* The submit side. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

extern char **environ;

static void with(const char *lock)
{
	CHECK(!hook_init());
	for (int i = 0; lock && i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, "env-lock"))
			CHECK(!fake.options[i].cb(fake.options[i].val, lock, 0));
}

static char *environment(void)
{
	static char text[65536];
	size_t len = 0;

	for (char **e = environ; *e; e++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", *e);
	return strdup(text);
}

static void nothing(void)
{
	static const spank_context_t contexts[] = { S_CTX_ALLOCATOR, S_CTX_LOCAL };

	for (size_t i = 0; i < 2; i++) {
		fake.context = contexts[i];
		char *before = environment();
		with(NULL);
		CHECK(!hook_post_opt());
		char *after = environment();
		CHECK_STR(after, before);
		CHECK_STR(helper_log(), "");
		CHECK(!fake.control_count);
		free(before);
		free(after);
	}
	/* an option that only says how long to wait asks for nothing */
	setenv("SBATCH_ENV_WAIT", "1h", 1);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK_STR(helper_log(), "");
}

/* What Slurm does with the variable of an option. */
static void slurm_reads_variables(void)
{
	char name[128];

	for (int i = 0; i < fake.option_count; i++) {
		snprintf(name, sizeof(name), "SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_%s", fake.options[i].name + 4);
		if (getenv(name))
			CHECK(!fake.options[i].cb(fake.options[i].val, getenv(name), 0));
	}
}

/* A name in a variable is a preference; on the command line it is a wish. */
static void name_alone(void)
{
	char *before = environment();

	setenv("SBATCH_ENV_NAME", "gex", 1);
	with(NULL);
	slurm_reads_variables();
	CHECK(!hook_post_opt());
	char *after = environment();
	CHECK_STR(after, before);
	CHECK_STR(helper_log(), "");
	setenv("SBATCH_ENV_NAME", "gex", 1);
	with(NULL);
	slurm_reads_variables();
	for (int i = 0; i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, "env-name"))
			CHECK(!fake.options[i].cb(fake.options[i].val, "gex", 0));
	hook_post_opt();
	CHECK_HAS(helper_log(), "--lock= --name=gex ");
}

static void name_with_lock(void)
{
	setenv("SBATCH_ENV_NAME", "gex", 1);
	setenv("SBATCH_ENV_LOCK", "a.lock", 1);
	with(NULL);
	slurm_reads_variables();
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--lock=a.lock --name=gex --wait=");
}

static void name_in_a_job(void)
{
	fake.context = S_CTX_LOCAL;
	setenv("SLURM_JOB_ID", "5", 1);
	setenv(PIN_VARIABLE, "1:tree:old", 1);
	setenv("SLURM_ENV_NAME", "gex", 1);
	with(NULL);
	slurm_reads_variables();
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--lock= --name=gex --wait= --check= --pin=1:tree:old ");
}

static void pins(void)
{
	program_invocation_short_name = "sbatch";
	setenv("SHELL_UNSET", "x", 1);
	with("a dir/pixi.lock");
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--context=sbatch");
	CHECK_HAS(helper_log(), "--owner=77 --lock=a dir/pixi.lock --name= --wait= --check= --pin= --component=0 environment");
	CHECK_STR(getenv(PIN_VARIABLE), "1:tree:{}");
	CHECK_STR(fake_control(PIN_CONTROL), "1:tree:{}");
	CHECK_STR(fake_control(SCOPE_CONTROL), "1;constraint=");
	CHECK_STR(getenv("SHELL_SET"), "a=b");
	CHECK(!getenv("SHELL_UNSET"));
	CHECK_STR(fake.errors, "");
}

/* A job within a job has the same lock, and may have other nodes. */
static void nested(void)
{
	setenv(PIN_VARIABLE, "1:tree:old", 1);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--lock= --name= --wait= --check= --pin=1:tree:old --component=0 ");
	CHECK_STR(fake_control(PIN_CONTROL), "1:tree:{}");
}

static void inherits(void)
{
	fake.context = S_CTX_LOCAL;
	setenv(PIN_VARIABLE, "1:own:{}", 1);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK_STR(fake_control(PIN_CONTROL), "1:own:{}");
	CHECK_STR(helper_log(), "");
}

static void components(void)
{
	with("a.lock");
	CHECK(!hook_post_opt());
	for (int i = 0; i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, "env-lock"))
			fake.options[i].cb(fake.options[i].val, "b.lock", 0);
	control_file("submit.answer", "");
	char path[128];
	snprintf(path, sizeof(path), "%s/submit.answer", dir);
	FILE *f = fopen(path, "w");
	fwrite("pin=1:own:b", 1, 12, f);
	fclose(f);
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--lock=b.lock --name= --wait= --check= --pin= --component=1");
	CHECK_STR(fake_control(PIN_CONTROL), "1:own:b");
}

/* Components without the option count, too. */
static void later_component(void)
{
	with(NULL);
	CHECK(!hook_post_opt());
	for (int i = 0; i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, "env-lock"))
			fake.options[i].cb(fake.options[i].val, "b.lock", 0);
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--lock=b.lock --name= --wait= --check= --pin= --component=1");
}

static void step(void)
{
	fake.context = S_CTX_LOCAL;
	setenv("SLURM_JOB_ID", "5", 1);
	setenv(PIN_VARIABLE, "1:tree:old", 1);
	with("a.lock");
	CHECK(!hook_post_opt());
	CHECK_HAS(helper_log(), "--context=srun");
	CHECK_HAS(helper_log(), "--pin=1:tree:old --component=0 --step=1");
	CHECK_STR(getenv(PIN_VARIABLE), "1:tree:{}");
}

/* srun in a job, or sbatch, with --env-check and nothing else; returns what the hook did. */
static int only_check(spank_context_t context, const char *pin, const char *check)
{
	fake.context = context;
	if (pin)
		setenv(PIN_VARIABLE, pin, 1);
	CHECK(!hook_init());
	for (int i = 0; check && i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, "env-check"))
			CHECK(!fake.options[i].cb(fake.options[i].val, check, 0));
	return hook_post_opt();
}

/* A step that goes on with the job's environment says for itself how strict to be. */
static void check_of_a_step(void)
{
	CHECK(!only_check(S_CTX_LOCAL, "1:tree:old", "off"));
	CHECK_STR(getenv(CHECK_VARIABLE), "off");
	CHECK_STR(helper_log(), "");
	CHECK_STR(getenv(PIN_VARIABLE), "1:tree:old");
}

static void wrong_check_of_a_step(void)
{
	CHECK(only_check(S_CTX_LOCAL, "1:tree:old", "maybe") < 0);
	CHECK_HAS(fake.errors, "--env-check=maybe is none of strict, warn, off");
}

static void check_without_a_job(void)
{
	CHECK(!only_check(S_CTX_LOCAL, NULL, "off"));
	CHECK(!getenv(CHECK_VARIABLE));
}

/* What a step chose is its own: its inner steps have it, a job that it submits has not. */
static void check_of_an_outer_step(void)
{
	setenv(CHECK_VARIABLE, "warn", 1);
	CHECK(!only_check(S_CTX_LOCAL, "1:tree:old", NULL));
	CHECK_STR(getenv(CHECK_VARIABLE), "warn");
}

static void check_of_a_nested_job(void)
{
	setenv(CHECK_VARIABLE, "warn", 1);
	CHECK(!only_check(S_CTX_ALLOCATOR, "1:tree:old", NULL));
	CHECK(!getenv(CHECK_VARIABLE));
}

static void fails(const char *file, const char *content, const char *message)
{
	control_file(file, content);
	with("a.lock");
	CHECK(hook_post_opt() == -1);
	CHECK(!getenv(PIN_VARIABLE) && !getenv("SHELL_SET") && !fake_control(PIN_CONTROL));
	if (message)
		CHECK_HAS(fake.errors, message);
	else
		CHECK_STR(fake.errors, "");
}

static void helper_refuses(void)
{
	fails("submit.exit", "3", NULL);
}

static void helper_crashes(void)
{
	fails("submit.crash", "", "crashed (signal 11");
}

static void helper_babbles(void)
{
	fails("submit.answer", "set=SHELL_SET=x", "does not understand");
}

static void helper_answers_no_pin(void)
{
	fails("submit.answer", "", "does not understand");
}

static void helper_missing(void)
{
	arguments("helper=/nonexistent/hpcenv", NULL);
	fails("unused", "", "/nonexistent/hpcenv cannot be started: No such file or directory; next:");
}

static void switched_off(void)
{
	fails("off", "repair until noon\nsecond line", "off: repair until noon; next: submit without");
	CHECK_STR(helper_log(), "");
}

static void bad_arguments(void)
{
	arguments("sotre=/x", NULL);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK_STR(fake.errors, "");
	fails("unused", "", "plugstack argument \"sotre=/x\": unknown");
	CHECK_STR(helper_log(), "");
}

static void from_outside(void)
{
	char *argv[] = { "srun", "--overlap", "--jobid=7", "true", NULL };

	fake.context = S_CTX_LOCAL;
	process_started(4, argv);
	setenv("SLURM_JOB_ID", "7", 1); /* inside of that job: its own pin, or none */
	setenv("SLURM_JOB_NODELIST", "n1", 1);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK(!getenv(ATTACH_VARIABLE));
	setenv("SLURM_JOB_ID", "8", 1);
	CHECK(!hook_post_opt());
	CHECK_STR(getenv(ATTACH_VARIABLE), "1");
	unsetenv(ATTACH_VARIABLE);
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_JOB_NODELIST");
	CHECK(!hook_post_opt());
	CHECK_STR(getenv(ATTACH_VARIABLE), "1");
	CHECK_STR(helper_log(), "");
}

/* The helper hears the signal, ends, and the submitting process gets it too. */
static void interrupted(void)
{
	int status;

	control_file("submit.sleep", "30");
	pid_t pid = fork();
	if (!pid) {
		with("a.lock");
		hook_post_opt();
		_exit(9); /* not reached: TERM is pending and not blocked any more */
	}
	for (int i = 0; i < 500 && !strstr(helper_log(), "begun"); i++)
		usleep(10000);
	CHECK_HAS(helper_log(), "begun");
	kill(pid, SIGTERM);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK(kill(atoi(strstr(helper_log(), " pid ") + 5), 0) && errno == ESRCH);
}

/* With a container there is no environment, and without one, no objection. */
static void container(void)
{
	setenv("_SLURM_SPANK_OPTION_pyxis_container_image", "ubuntu", 1);
	with(NULL);
	CHECK(!hook_post_opt());
	CHECK_STR(fake.errors, "");
	with(".");
	CHECK(hook_post_opt());
	CHECK_HAS(fake.errors, "--env-lock and a container");
	CHECK_HAS(fake.errors, "; next: leave one of them out");
	CHECK(!helper_calls("submit"));
	unsetenv("_SLURM_SPANK_OPTION_pyxis_container_image");
	setenv("PYXIS_CONTAINER_IMAGE", "ubuntu", 1); /* pyxis is not loaded */
	with(".");
	CHECK(!hook_post_opt());
	CHECK(helper_calls("submit") == 1);
}

/* A step of a job with an environment. */
static void container_step(void)
{
	fake.context = S_CTX_LOCAL;
	setenv(PIN_VARIABLE, "1:tree:{}", 1);
	setenv("SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_name", "mine", 1);
	with(NULL);
	CHECK(hook_post_opt());
	CHECK_HAS(fake.errors, "env -u SLURM_SPANK_HPCENV_PIN");
	CHECK(!helper_calls("submit"));
}

const struct test tests_submit[] = {
	{ "submit: without the option nothing happens", nothing },
	{ "submit: pins", pins },
	{ "submit: a name in a variable alone asks for nothing", name_alone },
	{ "submit: a name and a lock in variables", name_with_lock },
	{ "submit: a name in a variable inside a job", name_in_a_job },
	{ "submit: a container of pyxis", container },
	{ "submit: a container of pyxis, inside a job", container_step },
	{ "submit: a nested submission chooses anew from the job's lock", nested },
	{ "submit: a step inherits the pin", inherits },
	{ "submit: components of a heterogeneous job", components },
	{ "submit: only a later component has the option", later_component },
	{ "submit: srun in a job", step },
	{ "submit: a step's own --env-check", check_of_a_step },
	{ "submit: a step's --env-check that is none", wrong_check_of_a_step },
	{ "submit: --env-check without an environment", check_without_a_job },
	{ "submit: --env-check of an outer step", check_of_an_outer_step },
	{ "submit: --env-check of a step does not reach a job", check_of_a_nested_job },
	{ "submit: the helper refuses", helper_refuses },
	{ "submit: the helper crashes", helper_crashes },
	{ "submit: the answer is cut off", helper_babbles },
	{ "submit: the answer has no pin", helper_answers_no_pin },
	{ "submit: the helper is missing", helper_missing },
	{ "submit: switched off", switched_off },
	{ "submit: wrong plugstack argument", bad_arguments },
	{ "submit: srun --jobid from outside", from_outside },
	{ "submit: interrupted", interrupted },
	{ NULL, NULL },
};
