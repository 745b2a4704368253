/* Argument vectors and look-ups in environments. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcenv.h"

/* args_add appends one argument. v always ends with NULL, so that it can be
 * passed to exec; failed is to be looked at once, at the end. */
void args_add(struct args *a, const char *format, ...)
{
	va_list ap;

	if (a->failed || a->n + 1 >= (int)(sizeof(a->v) / sizeof(a->v[0]))) {
		a->failed = true;
		return;
	}
	va_start(ap, format);
	if (vasprintf(&a->v[a->n], format, ap) < 0) {
		a->v[a->n] = NULL;
		a->failed = true;
	} else {
		a->n++;
		a->v[a->n] = NULL;
	}
	va_end(ap);
}

void args_free(struct args *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->v[i]);
	*a = (struct args){ .n = 0 };
}

/* env_find returns the value of name in a NULL-terminated environment, or NULL. */
char *env_find(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* env_number returns the variable's value as a number; 0 if it is none. */
unsigned long env_number(char *const *env, const char *name)
{
	const char *value = env_find(env, name);
	char *end;

	if (!value || value[0] < '0' || value[0] > '9')
		return 0;
	unsigned long n = strtoul(value, &end, 10);
	return *end ? 0 : n;
}
