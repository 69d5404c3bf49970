/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of files, which are whole before they are read: what an unfinished file lacks is
 * fetched first, by the volume's retriever, and zeros are not believed before it says that they are
 * durable (I4).
 */
#ifndef CTL_ROLLBACK_CONTENT_H
#define CTL_ROLLBACK_CONTENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/rollback/target.h"

struct content;

/* socket: the retriever's, which is not needed as long as all files are whole.  stop: when it
 * becomes true, waiting and copying end. */
struct content *content_new(const char *volume, const char *socket, const bool *stop);
void content_free(struct content *content);

/* fd: of a file of the new server, not O_PATH.  0: whole and durable.  -ENOTCONN: there is no
 * retriever; -ECANCELED; else -errno as of migrate_fetch_range(). */
int content_fetch(struct content *content, int fd);
/*
 * Makes the data of `to`, which is open for them, the same as `from` (content_fetch() before):
 * holes stay holes.  *bytes: added what was written.  0; -EAGAIN: it was changed meanwhile;
 * -ECANCELED; else -errno.
 */
int content_copy(const struct content *content, int from, struct target_file *to, uint64_t *bytes);
/* Whether both have the same bytes, as far as they are here: what an unfinished file lacks is the
 * old server's.  1; 0; -ECANCELED; else -errno. */
int content_same(int from, struct target_file *to, const bool *stop);

#endif
