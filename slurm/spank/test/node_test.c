/* The node: slurmstepd and the tasks it forks. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "tasks.h"

static void idle(void)
{
	fake_put("SOME", "thing");
	begin(NULL);
	CHECK(run_tasks(2, "SOME=thing") == 0);
	CHECK(!fake.mounts);
	CHECK_STR(helper_log(), "");

	fake.step = 0xfffffffcU; /* the extern step has nothing to do with it */
	begin("1:tree:{}");
	CHECK(!fake.mounts);
	CHECK_STR(helper_log(), "");
}

static void tree(void)
{
	fake_put("PYTHONPATH", "/x");
	begin("1:tree:{}");
	CHECK(fake.mounts == 1);
	CHECK_HAS(helper_log(), "--owner=77 --prefix-root=/opt/hpcenv/e --uid=1234 --gid=1235 --groups=7,8");
	CHECK_HAS(helper_log(), "--job=42 --pin=1:tree:{} environment 0 ");
	CHECK(run_tasks(8, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(run_tasks(1, "PYTHONPATH") == 99); /* unset in every task */
	CHECK(helper_calls("attach") == 1);
	CHECK(helper_calls("activate") == 1);
	CHECK_HAS(helper_log(), "--job=42 --step=0 --nodeid=0 --pin=1:tree:{} --batch=0");
	CHECK_STR(said(), "");
}

static void batch(void)
{
	fake.step = 0xfffffffbU;
	begin("1:own:{}");
	CHECK(run_tasks(1, "PATH=/e/bin:/usr/bin") == 0);
	CHECK_HAS(helper_log(), "--step=4294967291 --nodeid=0 --pin=1:own:{} --batch=1");
	CHECK(!fake.mounts && !helper_calls("attach"));
}

static void job_file(void)
{
	char path[128];

	fake_put(ATTACH_VARIABLE, "1");
	begin(NULL); /* no file: the job has no environment */
	CHECK(run_tasks(1, ATTACH_VARIABLE) == 99);
	CHECK_STR(helper_log(), "");
	snprintf(path, sizeof(path), "%s/job", dir);
	CHECK(!mkdir(path, 0755));
	control_file("job/42", "");
	begin(NULL);
	CHECK(helper_calls("attach") == 1);
	CHECK_HAS(helper_log(), "--job=42 --pin= environment 0 ");
	CHECK(run_tasks(2, "PATH=/e/bin:/usr/bin") == 0);
	CHECK_HAS(helper_log(), "--pin= --batch=0");
	spank_unsetenv(NULL, ATTACH_VARIABLE);
	begin("1:own:{}"); /* the job's own file stands above an inherited pin */
	CHECK(helper_calls("attach") == 2);
	CHECK_HAS(helper_log(), "--job=42 --pin=1:own:{} environment");
}

static void mount_job(void)
{
	arguments("mount=job", "delivery=tree", "fuse=no", NULL);
	begin("1:tree:{}");
	CHECK(!fake.mounts && !helper_calls("attach"));
	CHECK(run_tasks(6, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(!fake.mounts && helper_calls("attach") == 1 && helper_calls("activate") == 1);
	CHECK_HAS(helper_log(), " --shared --delivery=tree --fuse=no ");
}

/* Where Slurm gives jobs no mounts, nothing is put into the node's own. */
static void mount_job_without(void)
{
	arguments("mount=job", NULL);
	fake.no_job_mounts = true;
	begin("1:tree:{}");
	CHECK(run_tasks(3, "") == CODE_UNREACHABLE);
	CHECK(said_once("mount=job in plugstack.conf needs mounts that Slurm gives each job"));
	CHECK(!helper_calls("attach"));
}

static void mount_host(void)
{
	arguments("mount=host", NULL);
	begin("1:tree:{}");
	CHECK(run_tasks(2, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(!fake.mounts && !helper_calls("attach"));
}

/* A group's environments: for the step, or for each task, alone. */
static void group_step(void)
{
	begin("1:private:{}");
	CHECK(fake.mounts == 1 && helper_calls("attach") == 1);
	CHECK_HAS(helper_log(), "--pin=1:private:{} environment 0 ");
	CHECK(run_tasks(3, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(helper_calls("attach") == 1 && helper_calls("activate") == 1);
}

static void group_tasks(void)
{
	arguments("mount=host", NULL);
	begin("1:private:{}");
	CHECK(!fake.mounts && !helper_calls("attach"));
	CHECK(run_tasks(3, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(helper_calls("attach") == 3 && helper_calls("activate") == 1);
	fake.mounts_rc = EPERM; /* never in mounts that others use, too */
	begin("1:private:{}");
	CHECK(run_tasks(3, "") == CODE_FAILED);
	CHECK(said_once("a task cannot get mounts of its own: Operation not permitted"));
	CHECK(helper_calls("attach") == 3);
}

static void group_file(void)
{
	char path[128];

	arguments("mount=job", NULL);
	snprintf(path, sizeof(path), "%s/job", dir);
	CHECK(!mkdir(path, 0755));
	control_file("job/42", "1:private:{}");
	begin("1:tree:{}");
	CHECK(run_tasks(2, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(helper_calls("attach") == 2);
	control_file("job/42", "1:privat");
	begin("1:tree:{}");
	CHECK(run_tasks(2, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(helper_calls("attach") == 3);
}

static void no_namespace(void)
{
	fake.mounts_rc = EPERM;
	begin("1:tree:{}");
	CHECK(run_tasks(3, "") == CODE_FAILED);
	CHECK(said_once("the step cannot get mounts of its own: Operation not permitted"));
	CHECK(!helper_calls("activate"));
}

static void attach_fails(void)
{
	control_file("attach.say", "the store /s is not mounted here: mount it\n");
	control_file("attach.exit", "5");
	begin("1:tree:{}");
	CHECK(run_tasks(4, "") == 5);
	CHECK(said_once("hpcenv: tn1: the store /s is not mounted here: mount it\n"));
	CHECK(!helper_calls("activate"));
}

/* What a successful attach says is logged, and goes to activate with its answer. */
static void attach_notes(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/attach.answer", dir);
	FILE *f = fopen(path, "w");
	fputs("warning: no copy\nwarning: and more\n", f);
	fputc('\0', f);
	fputs("0123=image 4567=tree", f);
	CHECK(!fclose(f));
	begin("1:tree:{}");
	CHECK_STR(fake.log, "hpcenv: job 42: warning: no copy\nhpcenv: job 42: warning: and more\n");
	CHECK(run_tasks(3, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(helper_calls("activate") == 1);
	CHECK_HAS(helper_log(), "--attached=0123=image 4567=tree --notes=warning: no copy\nwarning: and more ");
	CHECK_STR(said(), ""); /* activate says it */

	f = fopen(path, "w"); /* far too much: what is left of it is no answer */
	for (int i = 0; i < 9000; i++)
		fputc('x', f);
	fputc('\0', f);
	fputs("0123=image", f);
	CHECK(!fclose(f));
	begin("1:tree:{}");
	CHECK(run_tasks(1, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(!strstr(helper_log() + strlen(helper_log()) - 2200, "--attached"));
}

static void attach_hangs(void)
{
	time_t before = time(NULL);

	control_file("attach.sleep", "30");
	begin("1:tree:{}");
	CHECK(time(NULL) - before < 6);
	CHECK(run_tasks(2, "") == CODE_NOT_READY);
	CHECK(said_once("did not answer within 2 s"));
}

static void activate_refuses(void)
{
	control_file("activate.say", "helper says why\n");
	control_file("activate.exit", "3");
	begin("1:own:{}");
	CHECK(run_tasks(4, "") == 3);
	CHECK_STR(said(), "helper says why\n");
	CHECK(helper_calls("activate") == 1);
}

static void activate_strange_code(void)
{
	control_file("activate.exit", "77");
	begin("1:own:{}");
	CHECK(run_tasks(2, "") == CODE_FAILED);
}

static void activate_crashes(void)
{
	control_file("activate.crash", "");
	begin("1:own:{}");
	CHECK(run_tasks(4, "") == CODE_FAILED);
	CHECK(said_once("hpcenv: tn1: the helper "));
	CHECK(said_once("crashed (signal 11"));
}

static void activate_hangs(void)
{
	time_t before = time(NULL);

	control_file("activate.sleep", "30");
	begin("1:own:{}");
	CHECK(run_tasks(4, "") == CODE_NOT_READY);
	CHECK(time(NULL) - before < 6);
	CHECK(said_once("did not answer within 2 s"));
	CHECK(kill(atoi(strstr(helper_log(), " pid ") + 5), 0) && errno == ESRCH);
}

static void activate_babbles(void)
{
	control_file("activate.answer", "set=PATH=/only/half");
	fake_put("PATH", "/usr/bin");
	begin("1:own:{}");
	CHECK(run_tasks(2, "") == CODE_FAILED);
	CHECK(said_once("does not understand"));
}

static void activate_leaves_child(void)
{
	time_t before = time(NULL);

	control_file("activate.leave", "");
	begin("1:own:{}");
	CHECK(run_tasks(2, "PATH=/e/bin:/usr/bin") == 0);
	CHECK(time(NULL) - before < 2);
}

static void large(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/activate.answer", dir);
	FILE *f = fopen(path, "w");
	fputs("set=BIG=", f);
	for (int i = 0; i < 1 << 20; i++)
		fputc('x', f);
	fputc('\0', f);
	fclose(f);
	begin("1:own:{}");
	CHECK(run_tasks(2, "BIG") == 0);
	f = fopen(path, "a");
	for (int i = 0; i < 5 << 20; i++)
		fputc('\0', f);
	fclose(f);
	begin("1:own:{}");
	CHECK(run_tasks(2, "") == CODE_FAILED);
	CHECK(said_once("does not understand"));
}

/* The task that activates is killed: another does it again. */
static void owner_dies(void)
{
	control_file("activate.sleep", "1");
	begin("1:own:{}");
	pid_t first = start_task(0, "PATH");
	for (int i = 0; i < 500 && !strstr(helper_log(), "begun"); i++)
		usleep(2000);
	pid_t second = start_task(1, "PATH=/e/bin:/usr/bin");
	kill(first, SIGKILL);
	char path[128];
	snprintf(path, sizeof(path), "%s/activate.sleep", dir);
	CHECK(!unlink(path));
	int status;
	CHECK(waitpid(first, &status, 0) == first && WIFSIGNALED(status));
	CHECK(waitpid(second, &status, 0) == second && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(helper_calls("activate") == 2);
}

static void off(void)
{
	control_file("off", "repair\n");
	fake_put("PATH", "/usr/bin");
	begin("1:tree:{}");
	CHECK(run_tasks(4, "PATH=/usr/bin") == 3);
	CHECK(said_once(": switched off by "));
	CHECK(said_once("off: repair; this job needs its environment; next: "));
	CHECK(!fake.mounts);
	CHECK_STR(helper_log(), "");
}

static void container(void)
{
	fake_put("SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image", "ubuntu");
	begin("1:tree:{}");
	CHECK(run_tasks(2, "") == CODE_USAGE);
	CHECK(said_once(": this step has an environment, and a container ("));
	CHECK(!fake.mounts);
	CHECK_STR(helper_log(), "");
}

static void newer(void)
{
	begin("2:tree:{}");
	CHECK(run_tasks(2, "") == CODE_FAILED);
	CHECK(said_once("version of hpcenv"));
}

static void bad_arguments(void)
{
	arguments("moutn=job", NULL);
	begin("1:tree:{}");
	CHECK(run_tasks(2, "") == CODE_UNREACHABLE);
	CHECK(said_once("\"moutn=job\": unknown"));
	CHECK_STR(helper_log(), "");
}

const struct test tests_node[] = {
	{ "node: a job without a pin, the extern step", idle },
	{ "node: attach and activate once for all tasks", tree },
	{ "node: batch step, a user's own store", batch },
	{ "node: a step from outside reads the job's file", job_file },
	{ "node: mount=job", mount_job },
	{ "node: mount=job, and jobs have no mounts", mount_job_without },
	{ "node: mount=host", mount_host },
	{ "node: a group's environment, for a step", group_step },
	{ "node: a group's environment, for tasks", group_tasks },
	{ "node: a group's environment, by the job's file", group_file },
	{ "node: no mount namespace", no_namespace },
	{ "node: attach fails", attach_fails },
	{ "node: attach succeeds and has something to say", attach_notes },
	{ "node: attach hangs", attach_hangs },
	{ "node: activate refuses", activate_refuses },
	{ "node: activate ends with a code of no meaning", activate_strange_code },
	{ "node: activate crashes", activate_crashes },
	{ "node: activate hangs", activate_hangs },
	{ "node: the answer is cut off", activate_babbles },
	{ "node: activate leaves a child with its stdout", activate_leaves_child },
	{ "node: large answers", large },
	{ "node: the activating task is killed", owner_dies },
	{ "node: switched off", off },
	{ "node: a container of pyxis", container },
	{ "node: a pin of another version", newer },
	{ "node: wrong plugstack argument", bad_arguments },
	{ NULL, NULL },
};
