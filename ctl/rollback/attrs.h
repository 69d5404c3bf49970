/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An object's attributes: all that it has beside its data and names.  They are read from the new
 * server as clients see them there, and given to the object on the old server.
 *
 * An attribute that an object lacks here may never have been brought: the source does not tell of
 * it, or it did not fit (omissions.h).  So an attribute is removed on the old server only if it is
 * known to have been here; and a value that only stands here in the place of another one is not
 * given.
 */
#ifndef CTL_ROLLBACK_ATTRS_H
#define CTL_ROLLBACK_ATTRS_H

#include "ctl/rollback/attrs_there.h"

/* fd: O_PATH will do.  0 or -errno.  Call attrs_clear() afterwards, whatever was returned. */
int attrs_read(int fd, struct attrs *attrs);
void attrs_clear(struct attrs *attrs);
/* Reads attrs->st, ->partial and ->left alone, which need no attrs_clear(). */
int attrs_read_times(int fd, struct attrs *attrs);

/* One thing that the old server did not take, as a sentence that does not name the object. */
typedef void (*attrs_lost_fn)(void *arg, const char *what);

/*
 * Gives attrs to the object that fd (O_PATH will do) is a descriptor of, as far as it does not have
 * them.  Owners, and the ids in ACLs, go through config's maps backwards.  A symbolic link gets no
 * mode.  With attrs->base only what was set here since the switch is given, as far as that is
 * known.  What the old server's file system cannot store goes to lost.  An ACL that cannot be set
 * becomes a mode that grants nobody more.  0 or -errno: no room, no rights, or the old server is
 * away; -EAGAIN: the object would have to be changed, and attrs->held is set.
 */
int attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
	       attrs_lost_fn lost, void *arg);
/* Gives the times alone. */
int attrs_give_times(int fd, const struct attrs *attrs);

#endif
