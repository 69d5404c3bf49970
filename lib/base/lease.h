/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file to oneself (a lease for writing, fcntl(2)): who opens it, or cuts it off, waits until the
 * descriptor is closed, or until the kernel lets him in (fs.lease-break-time, 45 s).  So who writes
 * for long asks again and again whether he is alone still.  A local file system's alone.  SIGIO is
 * ignored from then on.
 */
#ifndef LIB_BASE_LEASE_H
#define LIB_BASE_LEASE_H

#include <glib.h>
#include <stdbool.h>

struct lease {
	int fd;
	gint64 alone; /* nobody had opened it then, monotonic */
};

/* fd: open for reading and writing.  -EBUSY: somebody has it open; else -errno. */
int lease_take(struct lease *lease, int fd);
/* Nobody has opened it, or not for longer than this part of what the kernel makes him wait. */
bool lease_holds(struct lease *lease, unsigned part);

extern int lease_break_s; /* for tests: lets in after so many seconds; -1: as the kernel does */

#endif
