/* A mount namespace for the step. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "hpcenv.h"

/* mounts_private gives this slurmstepd, and so all tasks of the step on this
 * node, mounts of their own that still receive the host's. It returns 0 or an
 * errno. Not to be called with job_container/tmpfs, whose setns fails after it. */
int mounts_private(void)
{
	if (unshare(CLONE_NEWNS))
		return errno;
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return errno;
	return 0;
}

/* mounts_which tells mount namespaces apart; 0: it cannot be known. */
unsigned long long mounts_which(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) ? 0 : st.st_ino;
}
