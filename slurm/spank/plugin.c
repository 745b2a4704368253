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

/* The Slurm versions that the shim was tested with. slurm_api_version() tells
 * the number of the library's interface (38.0.0 in 22.05, 42.0.0 in 24.11, as in
 * libslurm.so.42), which is raised with every release. Any other is left to the
 * loader, which refuses the file. */
static const struct {
	unsigned long api;
	unsigned int version;
} tested[] = {
	{ 38, SLURM_VERSION_NUM(22, 5, 0) },
	{ 42, SLURM_VERSION_NUM(24, 11, 0) },
};

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
		if (running >> 16 == tested[i].api)
			plugin_version = tested[i].version; /* the loader compares no further */
}
