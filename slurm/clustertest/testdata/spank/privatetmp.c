/* A plugin as sites have them: /tmp is private to the step or, with the argument
 * "task", to each task. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include <slurm/spank.h>

SPANK_PLUGIN(privatetmp, 1)

static int private_tmp(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("privatetmp", "/tmp", "tmpfs", 0, "mode=1777,size=1m"))
		slurm_error("privatetmp: %m");
	return 0;
}

static int per_task(int ac, char **av) { return ac > 0 && !strcmp(av[0], "task"); }

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	return spank_remote(sp) == 1 && !per_task(ac, av) ? private_tmp() : 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	(void)sp;
	return per_task(ac, av) ? private_tmp() : 0;
}
