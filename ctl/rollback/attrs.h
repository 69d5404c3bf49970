/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an object is beside its data and names: read off the new server as clients see it there, and
 * given to the one on the old server.
 *
 * What an object does not have here may never have been brought: the source does not tell of it, or
 * it did not fit (left_out.h).  So an attribute goes there only if it is known to have been
 * here; and what stands here in the place of something else is not given.
 */
#ifndef CTL_ROLLBACK_ATTRS_H
#define CTL_ROLLBACK_ATTRS_H

#include "ctl/rollback/attrs_there.h"

/* fd: O_PATH will do.  0 or -errno.  attrs_clear() afterwards whatever was returned. */
int attrs_read(int fd, struct attrs *attrs);
void attrs_clear(struct attrs *attrs);
/* attrs->st, ->partial and ->left alone, which need no attrs_clear(). */
int attrs_read_times(int fd, struct attrs *attrs);

/* One thing that the old server did not take, as a sentence without the object. */
typedef void (*attrs_lost_fn)(void *arg, const char *what);

/*
 * Gives them to the object that fd (O_PATH will do) is a descriptor of, as far as it does not have
 * them: owners and the ids in ACLs through config's maps backwards.  A symbolic link has no mode.
 * With attrs->base only what was set here since the switch, as far as that is known.
 * What the other file system cannot store goes to lost.  An ACL that cannot be set becomes a mode
 * that grants nobody more.  0 or -errno: no room, no rights, or the old server is away; -EAGAIN: it
 * would have to be changed, and is held.
 */
int attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
	       attrs_lost_fn lost, void *arg);
/* Times only. */
int attrs_give_times(int fd, const struct attrs *attrs);

#endif
