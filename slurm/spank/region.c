/* Memory that slurmstepd and the tasks forked from it share. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "hpcenv.h"

/* region_new maps a region whose pages are made only when written. It is never
 * unmapped: it ends with slurmstepd and its tasks' exec. NULL = no memory. */
struct region *region_new(void)
{
	struct region *r = mmap(NULL, sizeof(*r) + REGION_DATA, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_mutexattr_t attr;

	if (r == MAP_FAILED)
		return NULL;
	/* Robust: a task that is killed while it holds the lock must not hang
	 * the others; they find its work undone and do it themselves. */
	if (pthread_mutexattr_init(&attr) || pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) || pthread_mutex_init(&r->lock, &attr)) {
		munmap(r, sizeof(*r) + REGION_DATA);
		return NULL;
	}
	pthread_mutexattr_destroy(&attr);
	return r;
}

/* region_lock takes the lock, waiting at most so many seconds. It returns 0 or
 * an errno. After the death of an owner the state fields tell what is left to
 * do, because each is set only after its work. */
int region_lock(struct region *r, unsigned seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	int rc = pthread_mutex_timedlock(&r->lock, &until);
	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&r->lock);
	return rc;
}

void region_unlock(struct region *r)
{
	pthread_mutex_unlock(&r->lock);
}
