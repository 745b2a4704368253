/* One helper process, waited for without ever blocking on it: its program or
 * the files it opens may lie on a file system that does not answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hpcenv.h"

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

/* A pipe above the standard descriptors: the process may have those closed. */
static int high_pipe(int fd[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC))
		return -1;
	fd[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
	fd[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
	int err = errno;
	close(low[0]);
	close(low[1]);
	if (fd[0] >= 0 && fd[1] >= 0 && !fcntl(fd[0], F_SETFL, O_NONBLOCK))
		return 0;
	if (fd[0] >= 0)
		close(fd[0]);
	if (fd[1] >= 0)
		close(fd[1]);
	errno = err;
	return -1;
}

/* Reads what is there. False at the end of the pipe. */
static bool take(int fd, const struct run_spec *s, struct run_result *r)
{
	char spill[4096];

	for (;;) {
		bool room = r->out_len < s->out_size;
		ssize_t n = read(fd, room ? s->out + r->out_len : spill, room ? s->out_size - r->out_len : sizeof(spill));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
		if (room)
			r->out_len += (size_t)n;
		else
			r->truncated = true;
	}
}

/* Passes on what is there. False at the end of the pipe. */
static bool relay(int fd)
{
	char buf[4096];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(STDERR_FILENO, buf + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR)
				break; /* nobody reads this job's stderr */
			done += w > 0 ? w : 0;
		}
	}
}

static bool reaped(pid_t pid, struct run_result *r)
{
	int status;
	pid_t got = waitpid(pid, &status, WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0) { /* someone else reaped it: its verdict is lost */
		r->how = RUN_ERROR;
		r->code = 0;
	} else if (WIFEXITED(status)) {
		r->how = RUN_EXITED;
		r->code = WEXITSTATUS(status);
	} else {
		r->how = RUN_SIGNALED;
		r->code = WTERMSIG(status);
	}
	return true;
}

static void forward(int *fd, pid_t pid)
{
	sigset_t pending;

	if (sigpending(&pending))
		return;
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&pending, sig) == 1 && (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT))
			kill(pid, sig);
	*fd = -1; /* they stay pending for the process itself: do not look again */
}

static void stop(const struct run_spec *s, pid_t pid, struct run_result *r)
{
	struct run_result end;
	const struct timespec nap = { 0, 2000000 };

	kill(s->own_group ? -pid : pid, SIGKILL);
	kill(pid, SIGKILL);
	r->how = RUN_TIMEOUT;
	for (int i = 0; i < 100 && !reaped(pid, &end); i++)
		nanosleep(&nap, NULL); /* in uninterruptible sleep it stays; it is abandoned */
}

enum { OUT, STATUS, SIGS, ERR, WATCHED };

static void wait_for(const struct run_spec *s, pid_t pid, const int *fd, struct run_result *r)
{
	struct pollfd p[WATCHED];
	long end = s->timeout_ms ? now_ms() + (long)s->timeout_ms : 0;
	int noexec = 0, slice = 1;

	for (int i = 0; i < WATCHED; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	for (bool gone = false; !(gone = gone || reaped(pid, r)) || (s->orphan && p[OUT].fd >= 0);) {
		long left = end ? end - now_ms() : slice;
		if (left <= 0) {
			stop(s, pid, r);
			return;
		}
		/* With the pipe open its end wakes us; only a helper that leaves the
		 * pipe to a child of its own, or has closed it, is waited for in slices. */
		int got = poll(p, WATCHED, (int)(left < slice ? left : slice));
		slice = slice < 20 ? slice * 2 : 20;
		if (got <= 0)
			continue;
		if (p[OUT].revents && !take(fd[OUT], s, r)) {
			p[OUT].fd = -1;
			slice = 1;
		}
		if (p[ERR].revents && !relay(fd[ERR]))
			p[ERR].fd = -1;
		if (p[STATUS].revents) {
			if (read(fd[STATUS], &noexec, sizeof(noexec)) != (ssize_t)sizeof(noexec))
				noexec = 0;
			p[STATUS].fd = -1;
		}
		if (p[SIGS].revents)
			forward(&p[SIGS].fd, pid);
	}
	if (p[OUT].fd >= 0)
		take(fd[OUT], s, r);
	if (p[ERR].fd >= 0)
		relay(fd[ERR]);
	if (p[STATUS].fd >= 0 && read(fd[STATUS], &noexec, sizeof(noexec)) != (ssize_t)sizeof(noexec))
		noexec = 0;
	if (noexec) {
		r->how = RUN_NOEXEC;
		r->code = noexec;
	}
}

static void close_all(const int *fd, int n)
{
	for (int i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* run_helper runs one process and tells how it ended. While it runs with
 * forward_signals, INT, TERM, HUP and QUIT are blocked here, passed on to it,
 * and take their usual effect on this process afterwards. */
void run_helper(const struct run_spec *s, struct run_result *r)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, status[2] = { -1, -1 }, sigs = -1;
	sigset_t block, before;

	*r = (struct run_result){ .how = RUN_ERROR };
	if (high_pipe(out) || high_pipe(status) || (s->relay_stderr && high_pipe(err))) {
		r->code = errno;
		close_all((int[]){ out[0], out[1], status[0], status[1] }, 4);
		return;
	}
	sigemptyset(&block);
	if (s->forward_signals) {
		sigaddset(&block, SIGINT);
		sigaddset(&block, SIGTERM);
		sigaddset(&block, SIGHUP);
		sigaddset(&block, SIGQUIT);
	}
	pthread_sigmask(SIG_BLOCK, &block, &before);
	if (s->forward_signals)
		sigs = signalfd(-1, &block, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		run_child(s, out[1], s->capture_stderr ? out[1] : err[1], status[1], parent);
	r->code = errno;
	if (pid > 0 && s->own_group)
		setpgid(pid, pid); /* as the child does: whoever is first */
	close_all((int[]){ out[1], status[1], err[1] }, 3);
	int watched[WATCHED] = { [OUT] = out[0], [STATUS] = status[0], [SIGS] = sigs, [ERR] = err[0] };
	if (pid > 0)
		wait_for(s, pid, watched, r);
	close_all(watched, WATCHED);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
