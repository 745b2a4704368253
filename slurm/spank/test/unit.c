/* Runs each test in a process of its own: the plugin keeps state, as it does
 * in srun and slurmstepd. usage: unit HELPER [name part] */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

char dir[64];
static const char *helper;
static char *plugstack[16];
static int plugstack_count;

void check_that(bool ok, const char *file, int line, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
	if (fake.errors[0])
		fprintf(stderr, "slurm_error said: %s", fake.errors);
	_exit(1);
}

void check_str(const char *got, const char *want, const char *file, int line)
{
	if (got == want || (got && want && !strcmp(got, want)))
		return;
	fprintf(stderr, "%s:%d: got \"%s\", want \"%s\"\n", file, line, got ? got : "(none)", want ? want : "(none)");
	_exit(1);
}

void check_has(const char *got, const char *want, const char *file, int line)
{
	if (got && strstr(got, want))
		return;
	fprintf(stderr, "%s:%d: \"%s\" is not in \"%s\"\n", file, line, want, got ? got : "(none)");
	_exit(1);
}

void control_file(const char *name, const char *content)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	fputs(content, f);
	CHECK(!fclose(f));
}

const char *helper_log(void)
{
	static char text[65536];
	char path[256];

	snprintf(path, sizeof(path), "%s/log", dir);
	FILE *f = fopen(path, "r");
	if (!f)
		return "";
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

int helper_calls(const char *verb)
{
	char want[64];
	int n = 0;

	snprintf(want, sizeof(want), "call spank %s ", verb);
	for (const char *p = helper_log(); (p = strstr(p, want)); p++)
		n++;
	return n;
}

extern int slurm_spank_init(spank_t sp, int ac, char **av);
extern int slurm_spank_init_post_opt(spank_t sp, int ac, char **av);

/* arguments adds to the plugstack line; what is given twice counts last. */
void arguments(const char *first, ...)
{
	va_list ap;

	va_start(ap, first);
	for (const char *a = first; a; a = va_arg(ap, const char *)) {
		CHECK(plugstack_count < 16);
		plugstack[plugstack_count++] = strdup(a);
	}
	va_end(ap);
}

int hook_init(void)
{
	fake.option_count = 0;
	return slurm_spank_init(NULL, plugstack_count, plugstack);
}

int hook_post_opt(void)
{
	return slurm_spank_init_post_opt(NULL, plugstack_count, plugstack);
}

static void standard_arguments(void)
{
	char a[8][128];

	snprintf(a[0], 128, "helper=%s", helper);
	snprintf(a[1], 128, "store=%s", dir);
	snprintf(a[2], 128, "run_dir=%s", dir);
	snprintf(a[3], 128, "off=%s/off", dir);
	snprintf(a[4], 128, "scancel=%s/scancel", dir);
	arguments(a[0], a[1], a[2], a[3], a[4], "owner=77", "attach_timeout=2", "activate_timeout=2", NULL);
}

static int run(const struct test *t)
{
	strcpy(dir, "/tmp/hpcenv-spank-XXXXXX");
	CHECK(mkdtemp(dir));
	pid_t pid = fork();
	if (pid == 0) {
		alarm(60);
		setenv("HOME", dir, 1);
		fake = (struct fake){ .context = S_CTX_ALLOCATOR, .job = 42, .step = 0, .nnodes = 1 };
		standard_arguments();
		t->run();
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	CHECK(!system(cmd));
	printf("%s %s\n", status ? "FAIL" : "ok  ", t->name);
	fflush(stdout);
	return status != 0;
}

int main(int argc, char **argv)
{
	const struct test *const all[] = { tests_input, tests_submit, tests_node, tests_end };
	int failed = 0, count = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: unit HELPER [NAME]\n");
		return 2;
	}
	helper = argv[1];
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct test *t = all[i]; t->name; t++)
			if (argc < 3 || strstr(t->name, argv[2])) {
				failed += run(t);
				count++;
			}
	printf("%d tests, %d failed\n", count, failed);
	return failed || !count;
}
