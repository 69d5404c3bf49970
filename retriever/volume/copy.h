/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copying beforehand: the tree is moved, and brought up to date as often as wanted, while the old
 * server is in use and nobody is served here.
 *
 * The copy is a volume of its own in .migrate/copy/, filled and finished by the same ways, without
 * doors.  A run begins with the root's record saying UNFILLED: each directory is listed, what is
 * there is compared (copy_mark.h), and a directory's own directories are UNFILLED before it is
 * FILLED. So a run that is cut short goes on where it was, and is over when the root is normal, or
 * when only what failed is left.  attach makes the copy the volume's prior one (prior.h).
 *
 * A retriever is for the copy or for the volume from its start on.  A command that changes which
 * asks for a new start (retriever->reopen) and answers -ERESTART: to be asked again there.
 */
#ifndef RETRIEVER_VOLUME_COPY_H
#define RETRIEVER_VOLUME_COPY_H

#include "retriever/volume/attach.h"

/*
 * A run begins, or one that was cut short goes on.  accept: another old root, and any number of
 * names that are gone, are right.  0, -ERESTART, or -errno with *message.  Blocks for the disk and
 * for one round trip.
 */
int copy_begin(struct retriever *retriever, bool accept, char **message);
/* The crawler is through: *message is the run's summary, [copy] with keys as docs/ tell.  0 or
 * -errno with *message. */
int copy_end(struct retriever *retriever, char **message);
/* The copy becomes the prior copy of the volume, which is to be attached next.  -ERESTART, or
 * -errno with *message. */
int copy_switch(struct retriever *retriever, const struct attach *how, char **message);

#endif
