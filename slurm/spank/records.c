/* A helper's answer: records, each ended by a NUL byte:
 *   pin=VALUE   scope=VALUE   set=NAME=VALUE   unset=NAME */
#include <string.h>

#include "hpcenv.h"

/* records_each calls fn for every record of buf, in order, and stops at the
 * first non-zero answer, which it returns. What is not a record (also a record
 * cut off at the end) is -1: an answer is taken whole or not at all, so callers
 * run once with a checking fn before they apply. buf is changed and restored. */
int records_each(char *buf, size_t len, record_fn fn, void *ctx)
{
	char *end = buf + len;

	while (buf < end) {
		char *stop = memchr(buf, '\0', (size_t)(end - buf));
		int rc;

		if (!stop)
			return -1;
		if (!strncmp(buf, "pin=", 4)) {
			rc = fn(ctx, REC_PIN, "", buf + 4);
		} else if (!strncmp(buf, "scope=", 6)) {
			rc = fn(ctx, REC_SCOPE, "", buf + 6);
		} else if (!strncmp(buf, "set=", 4)) {
			char *name = buf + 4, *eq = strchr(name, '=');
			if (!eq || eq == name)
				return -1;
			*eq = '\0';
			rc = fn(ctx, REC_SET, name, eq + 1);
			*eq = '=';
		} else if (!strncmp(buf, "unset=", 6)) {
			if (!buf[6] || strchr(buf + 6, '='))
				return -1;
			rc = fn(ctx, REC_UNSET, buf + 6, "");
		} else {
			return -1;
		}
		if (rc)
			return rc;
		buf = stop + 1;
	}
	return 0;
}
