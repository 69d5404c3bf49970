/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/mend_mark.h"

#include <errno.h>
#include <sys/xattr.h>
#include <unistd.h>

#define XATTR_MENDING "security.migrate.mending"
#define VERSION	      1

/* The attribute's layout, in the processor's byte order: it is only read on this machine. */
struct mark {
	uint8_t version;
	struct migrate_binding own, aside;
};

int mend_mark(int fd, const struct migrate_binding *aside)
{
	struct mark mark = {.version = VERSION, .aside = *aside};
	int ret = migrate_binding_get(fd, "", &mark.own);

	if (ret)
		return ret;
	return fsetxattr(fd, XATTR_MENDING, &mark, sizeof mark, 0) < 0 || fsync(fd) < 0 ? -errno
											: 0;
}

int mend_unmark(int fd)
{
	if (fremovexattr(fd, XATTR_MENDING) < 0)
		return errno == ENODATA ? 0 : -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

bool mend_is_marked(int fd, struct migrate_binding *aside)
{
	struct migrate_binding own;
	struct mark mark;

	if (fgetxattr(fd, XATTR_MENDING, &mark, sizeof mark) != sizeof mark ||
	    mark.version != VERSION || mark.aside.len > MIGRATE_BINDING_MAX ||
	    mark.own.len > MIGRATE_BINDING_MAX || migrate_binding_get(fd, "", &own) ||
	    !migrate_binding_equal(&own, &mark.own))
		return false;
	if (aside)
		*aside = mark.aside;
	return true;
}
