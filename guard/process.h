/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits for an answer, as /proc has it.  tid: of a thread that does, so it does not end; 0: it
 * is nobody that can be seen from here.  One thread. */
#ifndef PROCESS_H
#define PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether it is a program that serves volumes, and so looks at what is here by itself: the
 * retriever, the crawler, the journal, migratectl, Ganesha, smbd.  By the name of its program's
 * file, which must be root's.
 */
bool process_is_server(pid_t tid);
/* Whether it is a thread of the kernel's NFS server. */
bool process_is_nfsd(pid_t tid);
/* The path by which it sees root on a mount that it does not share with the machine's first
 * process: g_free.  NULL: it has the mounts that everybody has. */
char *process_own_mount(pid_t tid, const char *root);
/* Whether its name, that of its program's file, or a part of its control group's path (with
 * ".service" or without) is one of the names.  names: NULL for none. */
bool process_is_one_of(pid_t tid, const char *const *names);
/* For a log: "NAME (PID)"; g_free. */
char *process_text(pid_t tid);

#endif
