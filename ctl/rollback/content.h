/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of files that are carried back.  A file is made whole before it is read: what an
 * unfinished file lacks is fetched first, by the volume's retriever, and zeros are not believed
 * before the retriever says that they are durable (I4).
 */
#ifndef CTL_ROLLBACK_CONTENT_H
#define CTL_ROLLBACK_CONTENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/rollback/target.h"

struct content;

/* socket: the retriever's; it is needed only if a file is unfinished.  stop: when it becomes true,
 * waiting and copying end. */
struct content *content_new(const char *volume, const char *socket, const bool *stop);
void content_free(struct content *content);

/* fd: of a file of the new server, not opened with O_PATH.  0: the file is whole and durable.
 * -ENOTCONN: there is no retriever; -ECANCELED: stopped; -EAGAIN: it does not become whole; else
 * -errno as of migrate_fetch_range(). */
int content_fetch(struct content *content, int fd);
/*
 * Makes the data of `to`, which is open to be written, the same as those of `from`, for which
 * content_fetch() was called: holes stay holes.  The number of bytes written is added to *bytes.
 * 0; -EAGAIN: `from` was changed meanwhile; -ECANCELED: stopped; else -errno.
 */
int content_copy(const struct content *content, int from, struct target_file *to, uint64_t *bytes);
/* Whether both files have the same bytes in the ranges that are here: the ranges that an unfinished
 * file lacks are the old server's anyway.  1: the same; 0: different; -ECANCELED: stopped; else
 * -errno. */
int content_same(int from, struct target_file *to, const bool *stop);

#endif
