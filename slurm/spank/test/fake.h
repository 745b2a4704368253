/* A SPANK of our own: what slurm/spank.h declares, in memory. The plugin's
 * sources are linked against it instead of being loaded by Slurm. */
#ifndef FAKE_H
#define FAKE_H

#include "hpcenv.h"

struct fake {
	spank_context_t context;
	char *env[256]; /* the job's environment, NULL-terminated */
	uint32_t job, step, nodeid, nnodes;
	int task;
	struct spank_option options[8];
	int option_count;
	char control[16][512]; /* job_control, NAME=VALUE, "-NAME" if unset */
	int control_count;
	char errors[8192]; /* what slurm_error printed */
	char log[8192];    /* what slurm_info logged */
	bool no_job_mounts; /* tasks are in the same mounts as the slurmstepd that began */
	pid_t slurmstepd;  /* which asked for its mounts first */
	int mounts;        /* calls of mounts_private */
	int mounts_rc;
};

extern struct fake fake;
extern char dir[]; /* an empty directory, also the store= argument */

const char *fake_env(const char *name);
const char *fake_control(const char *name);
void fake_put(const char *name, const char *value);

/* checks */
#define CHECK(c) check_that(!!(c), __FILE__, __LINE__, #c)
#define CHECK_STR(got, want) check_str(got, want, __FILE__, __LINE__)
#define CHECK_HAS(got, want) check_has(got, want, __FILE__, __LINE__)
void check_that(bool ok, const char *file, int line, const char *what);
void check_str(const char *got, const char *want, const char *file, int line);
void check_has(const char *got, const char *want, const char *file, int line);

/* the helper's controls and its log, files of dir */
void control_file(const char *name, const char *content);
const char *helper_log(void);
int helper_calls(const char *verb);

/* Runs the plugin's hooks as Slurm would. */
int hook_init(void);
int hook_post_opt(void);
void arguments(const char *first, ...) __attribute__((sentinel));

struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test tests_input[], tests_submit[], tests_node[], tests_end[];

#endif
