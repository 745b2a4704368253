/* The command line of the process that loaded the plugin. SPANK does not tell
 * it, and reading it from /proc would touch a file in every srun. */
#include <string.h>

#include "hpcenv.h"

static int count;
static char **words;

void process_started(int argc, char **argv)
{
	count = argc;
	words = argv;
}

/* The value of --jobid on the command line, or NULL. Like getopt_long it takes
 * the unambiguous abbreviation, and it stops at "--". The command's own
 * arguments are looked at too: a false find costs the node one stat. */
const char *process_jobid_argument(void)
{
	for (int i = 1; words && i < count && words[i]; i++) {
		if (!strcmp(words[i], "--"))
			break;
		if (strncmp(words[i], "--jobi", 6))
			continue;
		const char *rest = words[i] + 6;
		if (*rest == 'd')
			rest++;
		if (*rest == '=')
			return rest + 1;
		if (*rest == '\0' && i + 1 < count && words[i + 1])
			return words[i + 1];
	}
	return NULL;
}
