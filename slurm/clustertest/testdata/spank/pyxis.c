/* What hpcenv can see of pyxis: its name and its option. */
#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1)

static int given(int val, const char *arg, int remote)
{
	(void)val;
	(void)arg;
	(void)remote;
	return 0;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	static struct spank_option image = { "container-image", "IMAGE", "run in this image", 1, 0, given };

	(void)ac;
	(void)av;
	return spank_option_register(sp, &image) == ESPANK_SUCCESS ? 0 : -1;
}
