/* Which hook does what in which context. Everything else is elsewhere. */
#include "hpcenv.h"

static struct config config;
static struct node node;

static bool submitting(bool *srun)
{
	spank_context_t ctx = spank_context();

	*srun = ctx == S_CTX_LOCAL;
	return ctx == S_CTX_LOCAL || ctx == S_CTX_ALLOCATOR;
}

HPCENV_EXPORT int slurm_spank_init(spank_t sp, int ac, char **av)
{
	bool srun, submit_side = submitting(&srun);

	if (!submit_side && spank_context() != S_CTX_REMOTE)
		return 0;
	config_parse(&config, ac, av);
	if (submit_side)
		submit_started(&config, srun);
	/* a failure here would drain the node: there, options mean nothing */
	return options_register(sp) && submit_side ? -1 : 0;
}

HPCENV_EXPORT int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	bool srun;

	(void)ac;
	(void)av;
	if (submitting(&srun))
		return submit(sp, &config, srun);
	if (spank_context() == S_CTX_REMOTE)
		node_begin(sp, &config, &node);
	return 0;
}

HPCENV_EXPORT int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	verdict_launched(sp, &config);
	return 0;
}

HPCENV_EXPORT int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	return node_task_privileged(sp, &node);
}

HPCENV_EXPORT int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	return node_task(sp, &node);
}

HPCENV_EXPORT int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	if (spank_context() == S_CTX_REMOTE)
		node_end(sp, &node);
	return 0;
}
