/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits for an answer, as /proc has it.  A process is a descriptor of its directory there: the
 * number of one that ended may be another's meanwhile, what is read through the descriptor is of
 * the same one or of none.  -1 is nobody.  One thread. */
#ifndef GUARD_PROCESS_H
#define GUARD_PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* tid: of a thread; 0: it is nobody that can be seen from here.  -1 then, or a descriptor. */
int process_open(pid_t tid);
/*
 * Whether it is a program that looks at what is here by itself: the retriever, the crawler, the
 * journal, migratectl.  By the name of its program's file, which must be root's, and by who runs
 * it: this machine's root (the user namespace is ours, the real uid is 0), who may read all
 * directories.  Nobody else can get there: in a user namespace of one's own everybody is root.
 */
bool process_is_server(int process);
/* Whether it is Ganesha or smbd, in our user namespace; whoever runs it, as an smbd has all uids of
 * its client. */
bool process_is_door(int process);
/* Whether nobody has its mounts but itself and its threads, so far as can be told: it has others
 * than the process that started it, as a service has, or an smbd that has left those of the first.
 */
bool process_is_alone(int process);
/* The number of the process whose thread it is; 0: it has ended, though nobody may
 * have waited for it. */
pid_t process_number(int process);
/* Whether it is a thread of the kernel's NFS server. */
bool process_is_nfsd(int process);
/* Its real user, which programs with other rights keep; UINT32_MAX: it is nobody's that can be
 * seen. */
uid_t process_uid(int process);
/* Whether it has mounts that it does not share with the machine's first process. */
bool process_has_own_mounts(int process);
/* Whether the mount through which fd was opened is one of these.  It asks for no path: where a path
 * leads is said by those who made the mounts and links that it goes through. */
bool process_owns_mount_of(int process, int fd);
/* Whether its name, that of its program's file, or a part of its control group's path (with
 * ".service" or without) is one of the names.  names: NULL for none. */
bool process_is_one_of(int process, const char *const *names);
/* For a log: "NAME (PID)"; g_free. */
char *process_text(pid_t tid);

#endif
