/* Between fork and exec: only async-signal-safe calls, for slurmstepd and srun
 * have threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hpcenv.h"

static void fail(int status)
{
	int err = errno;
	ssize_t n = write(status, &err, sizeof(err));

	_exit(n == (ssize_t)sizeof(err) ? 127 : 126);
}

/* Closes every descriptor from first on. */
static void close_from(int first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned)first, ~0U, 0))
		return;
#endif
	struct rlimit lim;
	int max = 65536;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < (rlim_t)max)
		max = (int)lim.rlim_cur;
	for (int fd = first; fd < max; fd++)
		close(fd);
}

static void exec_search(const struct run_spec *s)
{
	char path[4096];

	if (!s->search || strchr(s->path, '/')) {
		execve(s->path, s->argv, s->envp);
		return;
	}
	for (const char *dir = s->search; *dir;) {
		size_t len = strcspn(dir, ":"), name = strlen(s->path);
		if (len + name + 2 <= sizeof(path)) {
			memcpy(path, dir, len);
			path[len] = '/';
			memcpy(path + len + 1, s->path, name + 1);
			execve(path, s->argv, s->envp);
			if (errno != ENOENT && errno != ENOTDIR)
				return;
		}
		dir += len;
		if (*dir == ':')
			dir++;
	}
}

/* run_child turns the forked child into the helper: no signal blocked or
 * ignored, stdin empty, stdout out, stderr err (-1: as it is), nothing else
 * open. The descriptors are above 3, status is closed by exec. It dies with the
 * process that asked. */
void run_child(const struct run_spec *s, int out, int err, int status, pid_t parent)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (s->own_group)
		setpgid(0, 0);

	int null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0)
		fail(status);
	if (err < 0 && fcntl(2, F_GETFD) < 0)
		err = null;
	if ((err >= 0 && dup2(err, 2) < 0) || dup3(status, 3, O_CLOEXEC) < 0)
		fail(status);
	close_from(4);

	pid_t between = s->orphan ? fork() : 0;
	if (between < 0)
		fail(3);
	if (between > 0)
		_exit(0);

	/* fork's child must not keep root, nor groups of another */
	if (s->become && (setgroups(0, NULL) || setresgid(s->gid, s->gid, s->gid) || setresuid(s->uid, s->uid, s->uid)))
		fail(3);
	if (!s->orphan) {
		/* after setresuid, which clears it */
		prctl(PR_SET_PDEATHSIG, s->own_group ? SIGKILL : SIGTERM);
		if (getppid() != parent)
			_exit(126);
	}
	exec_search(s);
	fail(3);
	_exit(126);
}
