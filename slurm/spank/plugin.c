/* The symbols that Slurm's loader reads, and the Slurm versions they fit. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "hpcenv.h"

/* SPANK_PLUGIN would make plugin_version a constant of the headers used to
 * build. The part of spank.h that is used here is the same in every version of
 * the list below, so the one file takes the version of the Slurm that loads it. */
HPCENV_EXPORT const char plugin_name[] = "hpcenv";
HPCENV_EXPORT const char plugin_type[] = "spank";
HPCENV_EXPORT unsigned int plugin_version = SLURM_VERSION_NUMBER;
HPCENV_EXPORT const unsigned int spank_plugin_version = 1;

/* The Slurm API versions that the shim was tested with, as (major << 8 | minor).
 * Any other is left to the loader, which refuses the file. */
static const unsigned long tested[] = { 22UL << 8 | 5, 24UL << 8 | 11 };

/* The loader reads the symbols after dlopen, that is after constructors. glibc
 * passes the program's arguments to them. */
__attribute__((constructor)) static void plugin_loaded(int argc, char **argv)
{
	long (*api_version)(void);
	void *found = dlsym(RTLD_DEFAULT, "slurm_api_version");

	process_started(argc, argv);
	if (!found)
		return;
	*(void **)&api_version = found;
	unsigned long running = (unsigned long)api_version();
	for (size_t i = 0; i < sizeof(tested) / sizeof(tested[0]); i++)
		if (running >> 8 == tested[i])
			plugin_version = (unsigned int)running;
}
