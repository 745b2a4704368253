/* The submit side of a SPANK plugin for tests: asks a program where the job can
 * land, as hpcenv_spank.so asks its helper, and hands its answer to slurmctld. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(hpcenv_scope_probe, 1)

static int component;

static struct spank_option unknown = {
	.name = "probe-text", .arginfo = "TEXT", .usage = "an option of another plugin", .has_arg = 1, .val = 0, .cb = NULL,
};

static int callback(int val, const char *optarg, int remote)
{
	(void)val;
	(void)optarg;
	(void)remote;
	return 0;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	unknown.cb = callback;
	return spank_option_register(sp, &unknown) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	enum spank_context context = spank_context();
	char number[16], answer[4096];
	size_t len = 0;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR)
		return 0;
	if (ac < 1 || !getenv("SCOPE_PROBE"))
		return 0;
	snprintf(number, sizeof(number), "%d", component++);
	if (pipe(fd) || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		execl(av[0], av[0], "probe", program_invocation_short_name, number, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	while ((n = read(fd[0], answer + len, sizeof(answer) - 1 - len)) > 0 || (n < 0 && errno == EINTR))
		len += n > 0 ? (size_t)n : 0;
	close(fd[0]);
	answer[len] = 0;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
		slurm_error("the probe %s failed", av[0]);
		return -1;
	}
	if (answer[0] && spank_job_control_setenv(sp, "HPCENV_SCOPE", answer, 1) != ESPANK_SUCCESS)
		return -1;
	return 0;
}
