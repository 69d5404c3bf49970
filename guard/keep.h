/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The service manager's side: sd_notify(3), sd_listen_fds(3).  It keeps descriptors for the next
 * start, so that a guard that dies leaves nothing open. */
#ifndef GUARD_KEEP_H
#define GUARD_KEEP_H

/* The descriptor that was kept under that name, close-on-exec and not blocking; -1: none. */
int keep_find(const char *name);
/* Tells the manager; name and fd: with a descriptor to be kept, or NULL and -1.  0, also where
 * there is no manager, or -errno. */
int keep_tell(const char *text, const char *name, int fd);

#endif
