/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks that the configured source is the one to which the volume was attached: .migrate/source
 * has its URL.  With another source the stubs here would be filled from objects that happen to have
 * the same numbers or paths.  The same source under a new address is recognized by its root's
 * number and ctime; at the same address, with another user or protocol version, the number is
 * enough.  The record of a root that was finished once has neither.
 */
#ifndef RETRIEVER_VOLUME_SOURCE_BOUND_H
#define RETRIEVER_VOLUME_SOURCE_BOUND_H

#include "retriever/objects/retriever.h"

#define SOURCE_FILE "source"

/* Notes the configured source; durable with the directory's next flush.  0 or -errno. */
int source_bound_note(struct retriever *retriever);
/* For an attached volume, with its source's root known: whether the source is the one to which the
 * volume was attached.  For a volume of an earlier release the source is noted now.  FALSE with
 * error set: one line that names both. */
bool source_bound_check(struct retriever *retriever, GError **error);
/* Whether .migrate/ says that its volume was attached to another address than this one.  Where it
 * says nothing: no. */
bool source_bound_differs(int private_fd, const char *url);

#endif
