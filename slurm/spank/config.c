/* The plugstack arguments: key=value, root-owned, read in every context. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpcenv.h"

static void bad(struct config *c, const char *arg, const char *why)
{
	if (!c->bad[0]) /* the first one is what the administrator must see */
		snprintf(c->bad, sizeof(c->bad), "plugstack argument \"%.120s\": %s", arg, why);
}

static bool number(const char *s, unsigned long min, unsigned long max, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*n = strtoul(s, &end, 10);
	return !errno && !*end && *n >= min && *n <= max;
}

static void set_mount(struct config *c, const char *arg, const char *value)
{
	if (!strcmp(value, "step"))
		c->mount = MOUNT_STEP;
	else if (!strcmp(value, "job"))
		c->mount = MOUNT_JOB;
	else if (!strcmp(value, "host"))
		c->mount = MOUNT_HOST;
	else
		bad(c, arg, "must be mount=step, mount=job or mount=host");
}

/* config_parse fills c from the arguments. The strings stay those of av, which
 * live as long as the plugin is loaded. It does not print: a job that does not
 * use hpcenv must not notice a mistake in the line. */
void config_parse(struct config *c, int ac, char **av)
{
	*c = (struct config){
		.helper = "/usr/libexec/hpcenv/hpcenv",
		.store = "",
		.owner = "",
		.prefix_root = "/opt/hpcenv/e",
		.socket = "/run/hpcenv/hpcenvd.sock",
		.run_dir = "/run/hpcenv-node",
		.off = "/etc/hpcenv/off",
		.scancel = "scancel",
		.local = "",
		.local_size = "",
		.local_fail = "",
		.delivery = "",
		.fuse = "",
		.mount = MOUNT_STEP,
		.attach_timeout = 10,
		.activate_timeout = 60,
	};
	const struct {
		const char *key;
		const char **value;
	} paths[] = {
		{ "helper", &c->helper }, { "store", &c->store }, { "prefix_root", &c->prefix_root },
		{ "socket", &c->socket }, { "run_dir", &c->run_dir }, { "off", &c->off }, { "scancel", &c->scancel },
		{ "local", &c->local },
	};

	for (int i = 0; i < ac; i++) {
		const char *eq = strchr(av[i], '=');
		size_t len = eq ? (size_t)(eq - av[i]) : strlen(av[i]);
		const char *value = eq ? eq + 1 : "";
		unsigned long n;
		bool known = false;

		for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
			if (strlen(paths[k].key) != len || strncmp(av[i], paths[k].key, len))
				continue;
			known = true;
			if (value[0] != '/')
				bad(c, av[i], "must be an absolute path");
			else
				*paths[k].value = value;
		}
		if (known)
			continue;
		if (len == 5 && !strncmp(av[i], "owner", len)) {
			if (!number(value, 0, UINT32_MAX - 1, &n))
				bad(c, av[i], "must be a numeric user id");
			else
				c->owner = value;
		} else if (len == 5 && !strncmp(av[i], "mount", len)) {
			set_mount(c, av[i], value);
		} else if (len == 10 && !strncmp(av[i], "local_size", len)) {
			if (!number(value, 1, INT64_MAX, &n))
				bad(c, av[i], "must be a number of bytes, without a unit");
			else
				c->local_size = value;
		} else if (len == 10 && !strncmp(av[i], "local_fail", len)) {
			if (strcmp(value, "store") && strcmp(value, "refuse"))
				bad(c, av[i], "must be local_fail=store or local_fail=refuse");
			else
				c->local_fail = value;
		} else if (len == 12 && !strncmp(av[i], "local_memory", len)) {
			if (strcmp(value, "yes") && strcmp(value, "no"))
				bad(c, av[i], "must be local_memory=yes or local_memory=no");
			else
				c->local_memory = !strcmp(value, "yes");
		} else if (len == 8 && !strncmp(av[i], "delivery", len)) {
			if (strcmp(value, "image") && strcmp(value, "tree"))
				bad(c, av[i], "must be delivery=image or delivery=tree");
			else
				c->delivery = value;
		} else if (len == 4 && !strncmp(av[i], "fuse", len)) {
			if (strcmp(value, "yes") && strcmp(value, "no") && strcmp(value, "only"))
				bad(c, av[i], "must be fuse=yes, fuse=no or fuse=only");
			else
				c->fuse = value;
		} else if (len == 14 && !strncmp(av[i], "attach_timeout", len)) {
			if (!number(value, 1, 3600, &n))
				bad(c, av[i], "must be 1 to 3600 seconds");
			else
				c->attach_timeout = (unsigned)n;
		} else if (len == 16 && !strncmp(av[i], "activate_timeout", len)) {
			if (!number(value, 1, 3600, &n))
				bad(c, av[i], "must be 1 to 3600 seconds");
			else
				c->activate_timeout = (unsigned)n;
		} else {
			bad(c, av[i], "unknown; known are helper, store, owner, prefix_root, socket, run_dir, off, mount, "
				      "attach_timeout, activate_timeout, scancel, local, local_size, local_memory, local_fail, delivery, fuse");
		}
	}
}

/* config_switched_off tells whether the file exists that switches the plugin
 * off on this host, and puts its first line (the reason) into reason. A file
 * that exists but cannot be read switches off too. */
bool config_switched_off(const struct config *c, char *reason, size_t size)
{
	reason[0] = '\0';
	int fd = open(c->off, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR;
	ssize_t n = read(fd, reason, size - 1);
	close(fd);
	reason[n > 0 ? n : 0] = '\0';
	reason[strcspn(reason, "\n")] = '\0';
	for (char *p = reason; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = ' ';
	return true;
}
