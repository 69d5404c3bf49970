/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which source a volume was attached to: .migrate/source has its URL.  What is here would be filled
 * with another one's objects that happen to have the same numbers or paths.  The same source under
 * a new address is known by its root's number and ctime.
 */
#ifndef RETRIEVER_VOLUME_SOURCE_BOUND_H
#define RETRIEVER_VOLUME_SOURCE_BOUND_H

#include "retriever/objects/retriever.h"

#define SOURCE_FILE "source"

/* Notes the configured one; durable with the directory's next flush.  0 or -errno. */
int source_bound_note(struct retriever *retriever);
/* Of a volume that is attached, with its source's root known: whether it is the source that it was
 * attached to.  One of an earlier release is noted now.  FALSE with error set: one line that names
 * both. */
bool source_bound_check(struct retriever *retriever, GError **error);

#endif
