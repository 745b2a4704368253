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

/* The releases that the shim was tested with: what slurm_api_version() of their
 * library says (the library's own major number), and what their loader asks
 * for, of which it compares major and minor. Any other is left to the loader,
 * which refuses the file. */
static const struct {
	unsigned long api;
	unsigned int version;
} tested[] = {
	{ 38UL << 16, 22U << 16 | 5U << 8 },
	{ 42UL << 16, 24U << 16 | 11U << 8 },
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
		if (running >> 16 == tested[i].api >> 16)
			plugin_version = tested[i].version;
}
