/* What is said of a helper that did not end by itself. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "hpcenv.h"

/* run_describe puts into buf what went wrong with a helper that did not end by
 * exit, and what to do, and returns the exit code that stands for it. */
int run_describe(const struct run_result *r, const char *path, unsigned timeout_s, char *buf, size_t size)
{
	switch (r->how) {
	case RUN_NOEXEC:
		snprintf(buf, size, "the helper %s cannot be started: %s; next: exclude this host (--exclude); the administrator installs hpcenv on it or corrects helper= in plugstack.conf",
			 path, strerror(r->code));
		return CODE_UNREACHABLE;
	case RUN_SIGNALED:
		snprintf(buf, size, "the helper %s crashed (signal %d, %s), a fault of hpcenv or of this host's memory limits; next: exclude this host (--exclude) and report it with the host's log",
			 path, r->code, strsignal(r->code));
		return CODE_FAILED;
	case RUN_TIMEOUT:
		snprintf(buf, size, "the helper %s did not answer within %u s and was killed; the store or the disk it lies on may hang on this host; next: exclude it (--exclude) and tell the administrator",
			 path, timeout_s);
		return CODE_NOT_READY;
	case RUN_ERROR:
		snprintf(buf, size, "the helper %s could not be run: %s; next: the host may be short of processes, memory or open files: ask for more memory or exclude it (--exclude)",
			 path, r->code ? strerror(r->code) : "its exit status was lost");
		return CODE_FAILED;
	case RUN_EXITED:
		break;
	}
	snprintf(buf, size, "the helper %s ended with exit code %d", path, r->code);
	return r->code > 0 && r->code <= CODE_LAST ? r->code : CODE_FAILED;
}
