/* The options --env-lock, --env-name, --env-wait, --env-check, and their
 * variables SBATCH_ENV_*, SALLOC_ENV_*, SLURM_ENV_*.
 *
 * Slurm reads a plugin's option from #SBATCH lines, then from the variable
 * SLURM_SPANK__SLURM_SPANK_OPTION_<plugin>_<option>, then from the command
 * line; the last one wins. That variable ("carrier" below) is how a value from
 * our own variables gets into the right place of this order. An outer job's
 * carriers are dropped: a nested submission is its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcenv.h"

#define OPTION_MAX 8192 /* bytes of a value; a path has at most 4096 */

/* Leads a value that came from one of our variables. */
#define FROM_VARIABLE '\x1f'

static const char *const suffix[OPT_COUNT] = { "lock", "name", "wait", "check" };
static const char *const variable[OPT_COUNT] = { "ENV_LOCK", "ENV_NAME", "ENV_WAIT", "ENV_CHECK" };
static char *value[OPT_COUNT];
static bool from_variable[OPT_COUNT];

/* Slurm calls back more than once for one option (script, variable, command
 * line; both sides): the last value stands. On a node values mean nothing, the
 * pin does. */
static int given(int id, const char *arg, int remote)
{
	if (remote)
		return 0;
	if (id < 0 || id >= OPT_COUNT)
		return -1;
	bool variable_gave = arg && arg[0] == FROM_VARIABLE;
	if (variable_gave)
		arg++;
	if (!arg || !arg[0] || !strcmp(arg, "(null)")) {
		slurm_error("hpcenv: --env-%s needs a value", suffix[id]);
		return -1;
	}
	if (strlen(arg) > OPTION_MAX) {
		slurm_error("hpcenv: --env-%s: the value is longer than %d bytes", suffix[id], OPTION_MAX);
		return -1;
	}
	char *copy = strdup(arg);
	if (!copy) {
		slurm_error("hpcenv: --env-%s: out of memory", suffix[id]);
		return -1;
	}
	free(value[id]);
	value[id] = copy;
	from_variable[id] = variable_gave;
	return 0;
}

static struct spank_option table[OPT_COUNT] = {
	{ "env-lock", "PATH", "run in the environment of this lock file, or of the pixi.lock in this directory", 1, OPT_LOCK, given },
	{ "env-name", "NAME", "take this environment of the lock", 1, OPT_NAME, given },
	{ "env-wait", "DURATION", "wait so long for an environment that is not prepared yet, such as 10m", 1, OPT_WAIT, given },
	{ "env-check", "strict|warn|off", "what becomes of an environment that a node cannot run: it is refused, runs with a warning, or is not looked at", 1, OPT_CHECK, given },
};

/* options_register must be called from slurm_spank_init, in each context. */
int options_register(spank_t sp)
{
	for (int i = 0; i < OPT_COUNT; i++) {
		if (spank_option_register(sp, &table[i]) != ESPANK_SUCCESS) {
			slurm_error("hpcenv: the option --%s cannot be registered", table[i].name);
			return -1;
		}
	}
	return 0;
}

const char *options_value(enum option_id id)
{
	return value[id];
}

/* True if the value stands in a variable, not in the script or on the command
 * line: it then is meant for whatever uses hpcenv, not for this submission. */
bool options_from_variable(enum option_id id)
{
	return value[id] && from_variable[id];
}

static void carrier(char *buf, size_t size, const char *prefix, int id)
{
	snprintf(buf, size, "%s_SLURM_SPANK_OPTION_hpcenv_env_%s", prefix, suffix[id]);
}

static void drop(const char *name)
{
	if (getenv(name))
		unsetenv(name);
}

/* options_from_environment is called once, before Slurm reads options. It
 * takes all our variables out of the environment, so that none reaches the job. */
void options_from_environment(bool srun)
{
	const char *family = "SBATCH_";
	static const char *const families[] = { "SBATCH_", "SALLOC_", "SLURM_" };
	char name[128];

	if (srun)
		family = "SLURM_";
	else if (!strcmp(program_invocation_short_name, "salloc"))
		family = "SALLOC_";
	for (int i = 0; i < OPT_COUNT; i++) {
		carrier(name, sizeof(name), "", i);
		drop(name);
		carrier(name, sizeof(name), "SLURM_SPANK_", i);
		drop(name);

		char own[64];
		snprintf(own, sizeof(own), "%s%s", family, variable[i]);
		const char *wish = getenv(own);
		if (wish && wish[0]) {
			char marked[OPTION_MAX + 3]; /* one too long is still told as such */
			snprintf(marked, sizeof(marked), "%c%s", FROM_VARIABLE, wish);
			setenv(name, marked, 1);
		}
		for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
			snprintf(own, sizeof(own), "%s%s", families[f], variable[i]);
			drop(own);
		}
	}
}

/* options_clear_carriers removes what Slurm has put down for the node's option
 * callback and for inner submissions: the pin replaces it. */
void options_clear_carriers(spank_t sp)
{
	char name[128];

	for (int i = 0; i < OPT_COUNT; i++) {
		carrier(name, sizeof(name), "SLURM_SPANK_", i);
		drop(name);
		carrier(name, sizeof(name), "", i);
		if (value[i]) {
			drop(name);
			spank_job_control_unsetenv(sp, name);
		}
	}
}
