/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which process is the volume's retriever, whose work is not a change by a client: the process that
 * listens on its socket, as the kernel says (SO_PEERCRED).  One thread.
 *
 * It may die, and its number be another's.  A pidfd tells; what it did before is believed to be its
 * own until everything that was queued by then is read (retriever_process_read_all()), in which
 * time numbers do not come round.
 */
#ifndef JOURNAL_RETRIEVER_PROCESS_H
#define JOURNAL_RETRIEVER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct retriever_process;

struct retriever_process *retriever_process_new(const char *socket);
void retriever_process_free(struct retriever_process *own);
/* Before the events of one read(2) are looked at: notices that it went, or came. */
void retriever_process_look(struct retriever_process *own);
bool retriever_process_is(const struct retriever_process *own, pid_t pid);
/* There was nothing more to read. */
void retriever_process_read_all(struct retriever_process *own);

#endif
