/* Containers that pyxis makes for the same job or step. */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

#include "hpcenv.h"

static int is_pyxis(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)unused;
	return strstr(base ? base + 1 : info->dlpi_name, "pyxis") != NULL;
}

/* container_wanted tells whether pyxis gives a process with these variables another
 * root directory, in which the environment would not be. An option of another
 * plugin is seen by what Slurm puts down for it; pyxis's own variables count
 * only where pyxis is loaded, for a user may have them everywhere. */
bool container_wanted(char *const *env)
{
	static const char *const options[] = { "container_image", "container_name" };
	static const char *const variables[] = { "PYXIS_CONTAINER_IMAGE", "PYXIS_CONTAINER_NAME" };
	static const char *const carriers[] = { "_SLURM_SPANK_OPTION_pyxis_", "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_" };
	char name[96];

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		for (size_t k = 0; k < sizeof(carriers) / sizeof(carriers[0]); k++) {
			strcpy(name, carriers[k]);
			strcat(name, options[i]);
			if (env_find(env, name))
				return true;
		}
		const char *own = env_find(env, variables[i]);
		if (own && own[0] && dl_iterate_phdr(is_pyxis, NULL))
			return true;
	}
	return false;
}
