/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which process is the volume's retriever, whose work is not a change by a client: the process that
 * listens on its socket, as the kernel says (SO_PEERCRED).  One thread.
 *
 * It may die, and its number be another's.  A pidfd tells; what it did before is believed to be its
 * own until everything that was queued by then is read (own_read_all()), in which time numbers do
 * not come round.
 */
#ifndef JOURNAL_OWN_H
#define JOURNAL_OWN_H

#include <stdbool.h>
#include <sys/types.h>

struct own;

struct own *own_new(const char *socket);
void own_free(struct own *own);
/* Before the events of one read(2) are looked at: notices that it went, or came. */
void own_look(struct own *own);
bool own_is(const struct own *own, pid_t pid);
/* There was nothing more to read. */
void own_read_all(struct own *own);

#endif
