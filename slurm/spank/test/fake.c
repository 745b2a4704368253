#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

struct fake fake;

spank_context_t spank_context(void)
{
	return fake.context;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *o)
{
	(void)sp;
	fake.options[fake.option_count++] = *o;
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	static gid_t groups[] = { 7, 8 };
	spank_err_t rc = ESPANK_SUCCESS;
	va_list ap;

	(void)sp;
	va_start(ap, item);
	switch ((int)item) {
	case S_JOB_ENV:
		*va_arg(ap, char ***) = fake.env;
		break;
	case S_JOB_ID:
		*va_arg(ap, uint32_t *) = fake.job;
		break;
	case S_JOB_STEPID:
		*va_arg(ap, uint32_t *) = fake.step;
		break;
	case S_JOB_NODEID:
		*va_arg(ap, uint32_t *) = fake.nodeid;
		break;
	case S_JOB_NNODES:
		*va_arg(ap, uint32_t *) = fake.nnodes;
		break;
	case S_TASK_ID:
		*va_arg(ap, int *) = fake.task;
		break;
	case S_JOB_UID:
		*va_arg(ap, uid_t *) = 1234;
		break;
	case S_JOB_GID:
		*va_arg(ap, gid_t *) = 1235;
		break;
	case S_JOB_SUPPLEMENTARY_GIDS:
		*va_arg(ap, gid_t **) = groups;
		*va_arg(ap, int *) = 2;
		break;
	default:
		rc = ESPANK_BAD_ARG;
	}
	va_end(ap);
	return rc;
}

static int find(const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; fake.env[i]; i++)
		if (!strncmp(fake.env[i], name, len) && fake.env[i][len] == '=')
			return i;
	return -1;
}

const char *fake_env(const char *name)
{
	int i = find(name);

	return i < 0 ? NULL : fake.env[i] + strlen(name) + 1;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
	int i = find(name);

	(void)sp;
	if (i >= 0) {
		free(fake.env[i]);
		for (; fake.env[i]; i++)
			fake.env[i] = fake.env[i + 1];
	}
	return ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	int n = 0;

	CHECK(overwrite);
	spank_unsetenv(sp, name);
	while (fake.env[n])
		n++;
	CHECK(n < 255);
	CHECK(asprintf(&fake.env[n], "%s=%s", name, value) > 0);
	return ESPANK_SUCCESS;
}

void fake_put(const char *name, const char *value)
{
	spank_setenv(NULL, name, value, 1);
}

spank_err_t spank_job_control_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	(void)sp;
	CHECK(overwrite);
	CHECK(fake.control_count < 16);
	snprintf(fake.control[fake.control_count++], 512, "%s=%s", name, value);
	return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	CHECK(fake.control_count < 16);
	snprintf(fake.control[fake.control_count++], 512, "-%s", name);
	return ESPANK_SUCCESS;
}

const char *fake_control(const char *name)
{
	size_t len = strlen(name);

	for (int i = fake.control_count - 1; i >= 0; i--) {
		if (fake.control[i][0] == '-' && !strcmp(fake.control[i] + 1, name))
			return NULL;
		if (!strncmp(fake.control[i], name, len) && fake.control[i][len] == '=')
			return fake.control[i] + len + 1;
	}
	return NULL;
}

void slurm_error(const char *format, ...)
{
	size_t len = strlen(fake.errors);
	va_list ap;

	va_start(ap, format);
	vsnprintf(fake.errors + len, sizeof(fake.errors) - len - 1, format, ap);
	va_end(ap);
	strcat(fake.errors, "\n");
}

void slurm_info(const char *format, ...)
{
	size_t len = strlen(fake.log);
	va_list ap;

	va_start(ap, format);
	vsnprintf(fake.log + len, sizeof(fake.log) - len - 1, format, ap);
	va_end(ap);
	strcat(fake.log, "\n");
}

unsigned long long mounts_which(void)
{
	if (!fake.slurmstepd)
		fake.slurmstepd = getpid();
	return getpid() == fake.slurmstepd || fake.no_job_mounts ? 1 : 2;
}

int mounts_private(void)
{
	fake.mounts++;
	return fake.mounts_rc;
}
