#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "tasks.h"

extern int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av);
extern int slurm_spank_task_init(spank_t sp, int ac, char **av);

static char path[128];

void begin(const char *pin)
{
	fake.context = S_CTX_REMOTE;
	fake_put("SLURMD_NODENAME", "tn1");
	if (pin)
		fake_put(PIN_VARIABLE, pin);
	snprintf(path, sizeof(path), "%s/stderr", dir);
	unlink(path);
	CHECK(!hook_init());
	CHECK(!hook_post_opt());
}

pid_t start_task(int local, const char *want)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	dup2(fd, 2);
	fake.task = local;
	CHECK(!slurm_spank_task_init_privileged(NULL, 0, NULL));
	CHECK(!slurm_spank_task_init(NULL, 0, NULL));
	const char *eq = strchr(want, '=');
	char *name = eq ? strndup(want, (size_t)(eq - want)) : strdup(want);
	const char *value = fake_env(name);
	_exit(!*want || (value && (!eq || !strcmp(value, eq + 1))) ? 0 : 99);
}

int run_tasks(int count, const char *want)
{
	int code = -2;

	for (int i = 0; i < count; i++)
		start_task(i, want);
	for (int i = 0; i < count; i++) {
		int status;
		CHECK(wait(&status) > 0);
		int got = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (code != -2 && code != got)
			return -1;
		code = got;
	}
	return code;
}

const char *said(void)
{
	static char text[16384];
	FILE *f = fopen(path, "r");

	if (!f)
		return "";
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

bool said_once(const char *text)
{
	const char *p = strstr(said(), text);

	return p && !strstr(p + 1, text);
}
