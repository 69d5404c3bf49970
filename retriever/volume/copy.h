/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies the tree before the switch, and brings the copy up to date as often as wanted, while
 * clients still use the old server and no client is served here.
 *
 * The copy is a volume of its own in .migrate/copy/.  The same functions fill and finish it,
 * without doors.  When a run begins the root's record says UNFILLED: each directory is listed, the
 * objects that are there are compared (copy_mark.h), and the directories in a directory are
 * UNFILLED before that directory is FILLED.  So a run that is cut short goes on where it was.  A
 * run is over when the root is normal, or when only objects that failed are left.  attach makes the
 * copy the volume's prior copy (prior.h).
 *
 * From its start on a retriever works either on the copy or on the volume.  A command that changes
 * this asks for a new start (retriever->reopen) and returns -ERESTART: the command has to be given
 * again after the start.
 */
#ifndef RETRIEVER_VOLUME_COPY_H
#define RETRIEVER_VOLUME_COPY_H

#include "retriever/volume/attach.h"

/*
 * Begins a run, or goes on with one that was cut short.  accept: another root on the old server is
 * accepted, and any number of names that are gone.  0, -ERESTART, or -errno with *message.  Blocks
 * for the disk and for one round trip.
 */
int copy_begin(struct retriever *retriever, bool accept, char **message);
/* Ends the run, when the crawler is through: *message is the run's summary, [copy] with the keys
 * that docs/ describe.  0, or -errno with *message. */
int copy_end(struct retriever *retriever, char **message);
/* Makes the copy the prior copy of the volume, which is attached next.  -ERESTART, or -errno with
 * *message. */
int copy_switch(struct retriever *retriever, const struct attach *how, char **message);

#endif
