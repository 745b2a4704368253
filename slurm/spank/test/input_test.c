/* What comes in: plugstack arguments, options, records, the command line. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

static void parse(struct config *c, const char *arg)
{
	char *av[] = { (char *)(uintptr_t)arg };

	config_parse(c, arg ? 1 : 0, av);
}

static void config(void)
{
	struct config c;
	static const char *const wrong[] = { "sotre=/x", "helper=bin/x", "owner=root", "owner=-1", "owner=4294967295", "mount=node",
					     "attach_timeout=0", "attach_timeout=1s", "activate_timeout=99999999999999999999", "store",
					     "hel=/x", "=", "local=x", "local_size=1G", "local_size=0", "local_memory=1",
					     "local_fail=no", "delivery=both", "fuse=1", "" };

	parse(&c, NULL);
	CHECK_STR(c.bad, "");
	CHECK_STR(c.helper, "/usr/libexec/hpcenv/hpcenv");
	CHECK_STR(c.off, "/etc/hpcenv/off");
	CHECK(c.mount == MOUNT_STEP && c.attach_timeout == 10 && c.activate_timeout == 60);
	parse(&c, "mount=job");
	CHECK(c.mount == MOUNT_JOB && !c.bad[0]);
	CHECK(!c.local[0] && !c.local_memory);
	parse(&c, "local=/d");
	CHECK_STR(c.local, "/d");
	parse(&c, "local_memory=yes");
	CHECK(c.local_memory && !c.bad[0]);
	parse(&c, "local_size=4000000000000");
	CHECK_STR(c.local_size, "4000000000000");
	parse(&c, "local_fail=refuse");
	CHECK_STR(c.local_fail, "refuse");
	CHECK(!c.delivery[0] && !c.fuse[0]);
	parse(&c, "delivery=tree");
	CHECK_STR(c.delivery, "tree");
	parse(&c, "fuse=only");
	CHECK_STR(c.fuse, "only");
	CHECK(!c.bad[0]);
	parse(&c, "attach_timeout=3600");
	CHECK(c.attach_timeout == 3600 && !c.bad[0]);
	parse(&c, "store=/s=/t");
	CHECK_STR(c.store, "/s=/t");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		parse(&c, wrong[i]);
		CHECK_HAS(c.bad, wrong[i]);
		CHECK(c.bad[0]);
	}
}

struct seen {
	char text[4096];
	int count;
};

static int see(void *ctx, enum record kind, const char *name, const char *value)
{
	struct seen *s = ctx;
	size_t len = strlen(s->text);

	snprintf(s->text + len, sizeof(s->text) - len, "%d(%s)(%s)", (int)kind, name, value);
	s->count++;
	return 0;
}

#define RECORDS(s, lit) records_each((char[]){ lit }, sizeof(lit) - 1, see, s)

static void records(void)
{
	struct seen s = { .count = 0 };

	CHECK(!RECORDS(&s, "pin=1:own:{}\0scope=1;x\0set=A=b=c\nd\0set=E=\0unset=U\0"));
	CHECK_STR(s.text, "0()(1:own:{})1()(1;x)2(A)(b=c\nd)2(E)()3(U)()");
	CHECK(!RECORDS(&s, ""));
	CHECK(RECORDS(&s, "set=A=b") == -1);
	CHECK(RECORDS(&s, "set=A\0") == -1);
	CHECK(RECORDS(&s, "set==b\0") == -1);
	CHECK(RECORDS(&s, "unset=\0") == -1);
	CHECK(RECORDS(&s, "unset=A=\0") == -1);
	CHECK(RECORDS(&s, "export=A\0") == -1);
	CHECK(RECORDS(&s, "\0") == -1);
	CHECK(RECORDS(&s, "hello\n") == -1);
}

/* Whatever the bytes: no record past the end (the sanitizers look), the buffer
 * is as before, and an accepted buffer ends with NUL. */
static void records_random(void)
{
	static const char alphabet[] = { '\0', '\0', '=', 's', 'e', 't', 'u', 'n', 'p', 'i', 'A', '\n' };
	static const char *const starts[] = { "set=", "unset=", "pin=", "" };
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)rand_r(&seed) % 40;
		const char *start = starts[rand_r(&seed) % 4];
		char *buf = malloc(len ? len : 1), *copy = malloc(len ? len : 1);
		struct seen s = { .count = 0 };
		for (size_t i = 0; i < len; i++)
			buf[i] = i < strlen(start) ? start[i] : alphabet[rand_r(&seed) % sizeof(alphabet)];
		memcpy(copy, buf, len);
		int rc = records_each(buf, len, see, &s);
		CHECK(!memcmp(buf, copy, len));
		CHECK(rc || !len || (buf[len - 1] == '\0' && s.count > 0));
		free(buf);
		free(copy);
	}
}

static void jobid(void)
{
	const struct {
		char *argv[4];
		const char *want;
	} cases[] = {
		{ { "srun", "--jobid=7", "x" }, "7" },  { { "srun", "--jobid", "8" }, "8" }, { { "srun", "--jobi=9" }, "9" },
		{ { "srun", "--job-name=a" }, NULL },	{ { "srun", "--jobid" }, NULL },     { { "srun", "--", "--jobid=1" }, NULL },
		{ { "srun" }, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int n = 0;
		while (n < 4 && cases[i].argv[n])
			n++;
		process_started(n, (char **)(uintptr_t)cases[i].argv);
		CHECK_STR(process_jobid_argument(), cases[i].want);
	}
}

static void call(const char *option, const char *value, int remote, int want)
{
	for (int i = 0; i < fake.option_count; i++)
		if (!strcmp(fake.options[i].name, option)) {
			CHECK(fake.options[i].has_arg == 1);
			CHECK(fake.options[i].cb(fake.options[i].val, value, remote) == want);
			return;
		}
	CHECK(!"the option is registered");
}

/* Slurm's order: script, carrier variable, command line. */
static void order(void)
{
	program_invocation_short_name = "sbatch";
	setenv("SBATCH_ENV_LOCK", "variable", 1);
	setenv("SALLOC_ENV_LOCK", "wrong", 1);
	setenv("SLURM_ENV_NAME", "wrong", 1);
	setenv("SBATCH_ENV_NAME", "", 1);
	setenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_wait", "outer", 1);
	setenv("_SLURM_SPANK_OPTION_hpcenv_env_check", "outer", 1);
	CHECK(!hook_init());
	CHECK(fake.option_count == 4);
	CHECK_STR(getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_lock"), "\x1f" "variable");
	CHECK_STR(getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_name"), NULL);
	CHECK_STR(getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_wait"), NULL);
	CHECK_STR(getenv("_SLURM_SPANK_OPTION_hpcenv_env_check"), NULL);
	CHECK(!getenv("SBATCH_ENV_LOCK") && !getenv("SALLOC_ENV_LOCK") && !getenv("SLURM_ENV_NAME") && !getenv("SBATCH_ENV_NAME"));

	call("env-lock", "script", 0, 0);
	call("env-lock", "\x1f" "variable", 0, 0);
	CHECK_STR(options_value(OPT_LOCK), "variable");
	CHECK(options_from_variable(OPT_LOCK));
	call("env-lock", "command", 0, 0);
	CHECK_STR(options_value(OPT_LOCK), "command");
	CHECK(!options_from_variable(OPT_LOCK));
	call("env-lock", "from the node", 1, 0);
	CHECK_STR(options_value(OPT_LOCK), "command");
	call("env-name", "", 0, -1);
	call("env-name", "(null)", 0, -1);
	CHECK_HAS(fake.errors, "--env-name needs a value");

	setenv("_SLURM_SPANK_OPTION_hpcenv_env_lock", "command", 1); /* as Slurm does before init_post_opt */
	options_clear_carriers(NULL);
	CHECK(!getenv("_SLURM_SPANK_OPTION_hpcenv_env_lock") && !getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_lock"));
	CHECK_STR(fake.control[0], "-_SLURM_SPANK_OPTION_hpcenv_env_lock");
}

static void family(void)
{
	setenv("SBATCH_ENV_LOCK", "b", 1);
	setenv("SALLOC_ENV_LOCK", "a", 1);
	setenv("SLURM_ENV_LOCK", "r", 1);
	program_invocation_short_name = "salloc";
	options_from_environment(false);
	CHECK_STR(getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_lock"), "\x1f" "a");
	setenv("SALLOC_ENV_LOCK", "a", 1);
	setenv("SLURM_ENV_LOCK", "r", 1);
	options_from_environment(true);
	CHECK_STR(getenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpcenv_env_lock"), "\x1f" "r");
}

const struct test tests_input[] = {
	{ "plugstack arguments", config },
	{ "records of an answer", records },
	{ "records: random bytes", records_random },
	{ "--jobid on the command line", jobid },
	{ "order of script, variable, command line", order },
	{ "each program has its own variables", family },
	{ NULL, NULL },
};
