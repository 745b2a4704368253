/* What the files of the shim share. doc.go tells what the shim is for. */
#ifndef HPCENV_H
#define HPCENV_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <slurm/spank.h>

#define HPCENV_EXPORT __attribute__((visibility("default")))

/* The pin's variable in a step's environment, and its job_control name. */
#define PIN_VARIABLE "SLURM_SPANK_HPCENV_PIN"
#define PIN_CONTROL "HPCENV_PIN"
#define SCOPE_CONTROL "HPCENV_SCOPE"
/* Set by a srun that enters a job from outside: look for the job's own pin. */
#define ATTACH_VARIABLE "SLURM_HPCENV_ATTACH"
#define ATTACH_CONTAINED "contained" /* its value if that srun asks for a container */

/* --env-check of a step that has its environment from the job. */
#define CHECK_VARIABLE "SLURM_HPCENV_CHECK"

/* Exit codes of the project. */
enum exit_code { CODE_FAILED = 1, CODE_USAGE = 2, CODE_UNFIT = 3, CODE_NOT_READY = 4, CODE_UNREACHABLE = 5, CODE_LAST = 5 };

/* config.c: the plugstack arguments. */
enum mount_mode { MOUNT_STEP, MOUNT_JOB, MOUNT_HOST };

struct config {
	const char *helper, *store, *owner, *prefix_root, *socket, *run_dir, *off, *scancel;
	const char *local, *local_size, *local_fail; /* copies on the node's disk; empty = none, not said */
	bool local_memory;
	const char *delivery, *fuse; /* empty = not said */
	enum mount_mode mount;
	unsigned attach_timeout, activate_timeout; /* seconds */
	char bad[320]; /* why the arguments are not usable; empty = usable */
};

void config_parse(struct config *c, int ac, char **av);
bool config_switched_off(const struct config *c, char *reason, size_t size);

/* process.c: what the process was started with. */
void process_started(int argc, char **argv);
const char *process_jobid_argument(void);

/* options.c: --env-* and their variables. */
enum option_id { OPT_LOCK, OPT_NAME, OPT_WAIT, OPT_CHECK, OPT_COUNT };

int options_register(spank_t sp);
const char *options_value(enum option_id id); /* NULL = not given */
bool options_from_variable(enum option_id id);
void options_from_environment(bool srun);
void options_clear_carriers(spank_t sp);

/* text.c: argument vectors and bounded text. */
struct args {
	char *v[32];
	int n;
	bool failed; /* out of memory, or too many */
};

void args_add(struct args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void args_free(struct args *a);
char *env_find(char *const *env, const char *name);
unsigned long env_number(char *const *env, const char *name);

/* run.c, run_child.c: one helper process. */
enum run_how {
	RUN_EXITED,   /* code: its exit code */
	RUN_SIGNALED, /* code: the signal */
	RUN_TIMEOUT,  /* killed, perhaps abandoned */
	RUN_NOEXEC,   /* code: errno of exec */
	RUN_ERROR     /* code: errno of fork, pipe …, or 0 if the status was lost */
};

struct run_spec {
	const char *path;      /* or a bare name looked up in search */
	const char *search;    /* colon list; NULL: path is used as it is */
	char *const *argv;
	char *const *envp;
	unsigned timeout_ms;   /* 0 = no bound */
	bool own_group;        /* its own process group, killed as a whole */
	bool forward_signals;  /* pass on INT, TERM, HUP, QUIT while waiting */
	bool capture_stderr;   /* into the same buffer as stdout */
	bool relay_stderr;     /* through a pipe to this process's stderr */
	bool orphan;           /* not a descendant of this process: it ends when its
	                        * output does, its exit code is not known */
	bool become;           /* take uid, gid, drop other groups */
	uid_t uid;
	gid_t gid;
	char *out;             /* stdout; what does not fit is dropped */
	size_t out_size;
};

struct run_result {
	enum run_how how;
	int code;
	size_t out_len;
	bool truncated;
};

void run_helper(const struct run_spec *s, struct run_result *r);
void run_child(const struct run_spec *s, int out, int err, int status, pid_t parent) __attribute__((noreturn));
int run_describe(const struct run_result *r, const char *path, unsigned timeout_s, char *buf, size_t size);

/* records.c: what a helper answers on stdout. */
enum record { REC_PIN, REC_SCOPE, REC_SET, REC_UNSET };
typedef int (*record_fn)(void *ctx, enum record kind, const char *name, const char *value);
int records_each(char *buf, size_t len, record_fn fn, void *ctx);

/* region.c: what the tasks of one node and step share. */
struct region {
	pthread_mutex_t lock;
	int attach; /* 0 not run, 1 done (attach_code tells) */
	int attach_code;
	int active; /* 0 not run, 1 done (active_code tells) */
	int active_code;
	int said;    /* a refusal was printed (atomic) */
	int refused; /* code of the refusal, 0 = none (atomic) */
	size_t len;  /* of data */
	char message[4096];
	char attached[2048]; /* what attach answered, for activate */
	char notes[2048];    /* what it said of an attach that succeeded; "" = nothing */
	char data[];
};

#define REGION_DATA ((size_t)4 << 20)

struct region *region_new(void);
int region_lock(struct region *r, unsigned seconds);
void region_unlock(struct region *r);

/* container.c */
bool container_wanted(char *const *env);

/* submit.c */
int submit(spank_t sp, const struct config *c, bool srun);
void submit_started(const struct config *c, bool srun);

/* node.c: one slurmstepd and its tasks. */
struct node {
	enum { NODE_IDLE, NODE_ACTIVE } state;
	const struct config *config;
	char *pin;         /* NULL: the job's file tells */
	bool entered; /* by a srun from outside the job */
	bool contained; /* pyxis gives it another root directory */
	bool broken; /* out of memory at the start */
	bool attach_wanted;
	bool alone; /* each task attaches, in mounts of its own */
	bool here;  /* in this task: it has */
	bool batch;
	bool spans; /* the step has components of a heterogeneous job */
	uint32_t job, step, nodeid, nnodes;
	uid_t uid;
	gid_t gid;
	char name[256];    /* this node's */
	bool off;          /* the off file is there: nothing is run, tasks are refused */
	char reason[256];  /* its first line */
	unsigned long long mounts; /* namespace of the slurmstepd before it is in the job's */
	struct region *region;
};

void node_begin(spank_t sp, const struct config *c, struct node *n);
int node_task_privileged(spank_t sp, struct node *n);
int node_task(spank_t sp, struct node *n);
void node_end(spank_t sp, struct node *n);

/* attach.c, activate.c */
void attach_run(spank_t sp, const struct node *n);
void attach_apart(spank_t sp, const struct node *n);
void attach_within(spank_t sp, const struct node *n);
int activate_run(spank_t sp, const struct node *n);
int activate_apply(spank_t sp, const struct node *n);

/* mounts.c */
int mounts_private(void);
unsigned long long mounts_which(void);

/* refuse.c, verdict.c: how a step that cannot run ends. */
void refuse(const struct node *n, int code, const char *message) __attribute__((noreturn));
int verdict_signal(int code);
int verdict_code(int status);
void verdict_watch(void);
void verdict_launched(spank_t sp, const struct config *c);

#endif
