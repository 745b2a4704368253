/* How a refused step ends: codes, signals, scancel, srun's exit. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "tasks.h"

extern int slurm_spank_exit(spank_t sp, int ac, char **av);

/* The unit program is not a plugin that can be kept in memory. */
extern void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode)
{
	(void)mode;
	return (void *)(uintptr_t)file;
}

static void scancel(const char *script)
{
	char path[128];

	control_file("scancel", script);
	snprintf(path, sizeof(path), "%s/scancel", dir);
	CHECK(!chmod(path, 0755));
	CHECK(!chmod(dir, 0777));
}

static const char *cancelled(void)
{
	static char text[4096];
	char path[128];

	snprintf(path, sizeof(path), "%s/cancelled", dir);
	FILE *f = fopen(path, "r");
	if (!f)
		return "";
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

#define SCRIPT "#!/bin/sh\necho $* as $(id -u) conf $SLURM_CONF env $(env | wc -l) >> $(dirname $0)/cancelled\n"

static void one_of_many(void)
{
	fake.nnodes = 3;
	fake.step = 7;
	scancel(SCRIPT);
	setenv("SLURM_CONF", "/etc/slurm/x.conf", 1);
	control_file("activate.exit", "3");
	begin("1:own:{}");
	CHECK(run_tasks(4, "") == 128 + 53);
	CHECK_STR(cancelled(), "");
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	if (getuid() == 0) {
		CHECK_HAS(cancelled(), "--signal=KILL 42.7 as 1234 conf /etc/slurm/x.conf");
		CHECK_STR(fake.errors, "");
	} else {
		CHECK_HAS(fake.errors, "may not have ended it"); /* cannot become another user */
	}
}

/* A node that starts its tasks later than the first signal comes. */
static void a_late_node(void)
{
	if (getuid() != 0) {
		fprintf(stderr, "SKIPPED: not root, scancel cannot be run as the job's user\n");
		return;
	}
	fake.nnodes = 2;
	scancel(SCRIPT "[ $(wc -l < $(dirname $0)/cancelled) -lt 3 ] || { echo 'error: no such step' >&2; exit 1; }\n");
	control_file("activate.exit", "3");
	begin("1:own:{}");
	CHECK(run_tasks(1, "") == 128 + 53);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	const char *p = cancelled();
	int lines = 0;
	while ((p = strchr(p, '\n'))) {
		lines++;
		p++;
	}
	CHECK(lines == 3); /* repeated until the step is not there any more */
	CHECK_STR(fake.errors, "");
}

/* A step over two components: both are ended, though this one has one node. */
static void components(void)
{
	if (getuid() != 0) {
		fprintf(stderr, "SKIPPED: not root, scancel cannot be run as the job's user\n");
		return;
	}
	fake_put("SLURM_STEP_NUM_NODES", "3");
	fake_put("SLURM_HET_SIZE", "2");
	fake_put("SLURM_JOB_ID_HET_GROUP_0", "42");
	fake_put("SLURM_JOB_ID_HET_GROUP_1", "43");
	scancel(SCRIPT);
	control_file("activate.exit", "3");
	begin("1:own:{}");
	CHECK(run_tasks(1, "") == 128 + 53);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	CHECK_HAS(cancelled(), "--signal=KILL 43.0 42.0 as");
	/* of three components one may not be part of the step */
	fake_put("SLURM_HET_SIZE", "3");
	fake_put("SLURM_JOB_NUM_NODES_HET_GROUP_0", "1");
	fake_put("SLURM_JOB_NUM_NODES_HET_GROUP_1", "2");
	fake_put("SLURM_JOB_NUM_NODES_HET_GROUP_2", "1");
	begin("1:own:{}");
	CHECK(run_tasks(1, "") == 128 + 53);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	CHECK_HAS(cancelled(), "--signal=KILL 42.0 as");
}

static void cancel_fails(void)
{
	if (getuid() != 0) {
		fprintf(stderr, "SKIPPED: not root, scancel cannot be run as the job's user\n");
		return;
	}
	fake.nnodes = 2;
	scancel("#!/bin/sh\necho no controller >&2\nexit 1\n");
	control_file("activate.exit", "3");
	begin("1:own:{}");
	CHECK(run_tasks(1, "") == 128 + 53);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	CHECK_HAS(fake.errors, "step 42.0 was refused here");
	CHECK_HAS(fake.errors, "no controller");
}

static void not_refused(void)
{
	fake.nnodes = 3;
	scancel(SCRIPT);
	begin("1:own:{}");
	CHECK(run_tasks(2, "") == 0);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	CHECK_STR(cancelled(), "");
	/* one node, and batch: nothing else to end, the code is the task's own */
	control_file("activate.exit", "3");
	fake.nnodes = 1;
	begin("1:own:{}");
	CHECK(run_tasks(2, "") == 3);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	fake.nnodes = 3;
	fake.step = 0xfffffffbU;
	begin("1:own:{}");
	CHECK(run_tasks(1, "") == 3);
	CHECK(!slurm_spank_exit(NULL, 0, NULL));
	CHECK_STR(cancelled(), "");
}

/* A srun that launches one component of so many nodes and ends so. */
static int srun_ends(uint32_t nodes, int status, char *text, size_t size)
{
	static const struct config c = { .attach_timeout = 1, .activate_timeout = 1 };
	int fd[2], got;

	CHECK(!pipe(fd));
	pid_t pid = fork();
	if (!pid) {
		dup2(fd[1], 2);
		verdict_watch();
		verdict_watch();
		fake.nnodes = nodes;
		if (nodes)
			verdict_launched(NULL, &c);
		exit(status);
	}
	close(fd[1]);
	ssize_t n = read(fd[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fd[0]);
	CHECK(waitpid(pid, &got, 0) == pid && WIFEXITED(got));
	return WEXITSTATUS(got);
}

static void verdicts(void)
{
	char text[512];

	for (int code = 1; code <= CODE_LAST; code++) {
		CHECK(verdict_signal(code) > SIGRTMIN && verdict_signal(code) < SIGRTMAX);
		CHECK(verdict_code(128 + verdict_signal(code)) == code);
		CHECK(srun_ends(2, 128 + verdict_signal(code), text, sizeof(text)) == code);
		CHECK_HAS(text, "step 42.0 ended on all 2 nodes");
		/* with one node, or before any, it is the program's own exit code */
		for (uint32_t nodes = 0; nodes < 2; nodes++) {
			CHECK(srun_ends(nodes, 128 + verdict_signal(code), text, sizeof(text)) == 128 + verdict_signal(code));
			CHECK_STR(text, "");
		}
	}
	static const int user[] = { 0, 1, 3, 137, 143, 139, 255, 128 + 50, 128 + 56 };
	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++) {
		CHECK(srun_ends(2, user[i], text, sizeof(text)) == user[i]);
		CHECK_STR(text, "");
	}
}

const struct test tests_end[] = {
	{ "end: one node of many refuses", one_of_many },
	{ "end: a node starts its tasks late", a_late_node },
	{ "end: a step over components", components },
	{ "end: scancel fails", cancel_fails },
	{ "end: nothing is cancelled otherwise", not_refused },
	{ "end: srun's exit code", verdicts },
	{ NULL, NULL },
};
